/** A database in the origin private file system, which needs SharedArrayBuffer. */
export default () => {
  const worker = new Worker('/opfs-worker.js', { type: 'module' });
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve([crossOriginIsolated, data]);
    worker.onerror = ({ message }) => reject(new Error(`isolated: ${crossOriginIsolated}, ${message}`));
  });
};
