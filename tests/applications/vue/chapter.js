import { h, ref } from 'vue';
import { useRoute } from 'vue-router';

export default {
  setup() {
    const [{ params }, doubled] = [useRoute(), ref('')];
    const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => {
      doubled.value = data;
    };
    worker.postMessage(params.number);
    return () => doubled.value && h('h1', `Chapter ${params.number}, doubled ${doubled.value}`);
  },
};
