import { createApp, h } from 'vue';
import { createRouter, createWebHistory, RouterLink, RouterView } from 'vue-router';

const Front = { render: () => h(RouterLink, { to: '/chapter/2' }, () => 'Read on') };
const routes = [
  { path: '/', component: Front },
  { path: '/chapter/:number', component: () => import('./chapter.js') },
];
const router = createRouter({ history: createWebHistory(import.meta.env.BASE_URL), routes });
createApp({ render: () => h(RouterView) }).use(router).mount('#app');
