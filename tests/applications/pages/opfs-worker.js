import initialise from '/vendor/sqlite-wasm/sqlite3.mjs';

const { oo1 } = await initialise();
const db = new oo1.OpfsDb('/words.sqlite', 'ct');
db.exec('CREATE TABLE IF NOT EXISTS words (word); DELETE FROM words; INSERT INTO words VALUES (7)');
postMessage(db.selectValue('SELECT word FROM words'));
