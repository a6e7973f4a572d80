import { createDbWorker } from 'sql.js-httpvfs';

export default async () => {
  const from = { from: 'inline', config: { serverMode: 'full', requestChunkSize: 4096, url: '/data/words.sqlite' } };
  const worker = await createDbWorker([from], '/vendor/sql.js-httpvfs/sqlite.worker.js', '/vendor/sql.js-httpvfs/sql-wasm.wasm');
  const found = await worker.db.query('SELECT word FROM words WHERE id = ?', [17_000]);
  return [found, (await worker.worker.bytesRead) < 1_000_000];
};
