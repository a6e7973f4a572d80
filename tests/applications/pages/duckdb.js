import * as duckdb from '@duckdb/duckdb-wasm';

export default async () => {
  const db = new duckdb.AsyncDuckDB(new duckdb.VoidLogger(), new Worker('/vendor/duckdb/duckdb-browser-eh.worker.js'));
  await db.instantiate(`${location.origin}/vendor/duckdb/duckdb-eh.wasm`);
  const connection = await db.connect();
  const found = await connection.query(`SELECT count(*)::INT AS n, max(length)::INT AS most FROM read_csv('${location.origin}/data/words.csv')`);
  return found.toArray().map((row) => [row.n, row.most]);
};
