import initialise from '/vendor/sqlite-wasm/sqlite3.mjs';

export default async () => {
  const { capi, wasm, oo1 } = await initialise();
  const bytes = new Uint8Array(await (await fetch('/data/words.sqlite')).arrayBuffer());
  const db = new oo1.DB();
  const flags = capi.SQLITE_DESERIALIZE_FREEONCLOSE | capi.SQLITE_DESERIALIZE_RESIZEABLE;
  capi.sqlite3_deserialize(db.pointer, 'main', wasm.allocFromTypedArray(bytes), bytes.length, bytes.length, flags);
  return db.selectArrays('SELECT count(*), max(word) FROM words');
};
