addEventListener('message', ({ data }) => postMessage(2 * data));
