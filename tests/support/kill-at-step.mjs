/**
 * Loaded into a program before its own modules (`NODE_OPTIONS=--import=…`): ends it as `kill -9` does, after change number WISPR_KILL_AT of what it
 * leaves behind. A change is one of a file, or a transaction of SQLite. Without WISPR_KILL_AT the program goes on, and after each change its working
 * directory is copied into a folder beside it, `….1`, `….2` and so on: what a kill at that moment leaves.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import sqlite from 'node:sqlite';

const { WISPR_KILL_AT: at } = process.env;
const steps = new Map();
let isCopying = false;

function changed(result) {
  if (isCopying) return result;
  const folder = process.cwd();
  const step = (steps.get(folder) ?? 0) + 1;
  steps.set(folder, step);
  if (at === undefined) copy(folder, `${folder}.${step}`);
  else if (step === Number(at)) process.kill(process.pid, 'SIGKILL');
  return result;
}

function copy(folder, place) {
  isCopying = true; // is itself made of changes
  fs.cpSync(folder, place, { recursive: true });
  isCopying = false;
}

function counted(change) {
  return function (...args) {
    const result = change.apply(this, args);
    return result instanceof Promise ? result.then(changed) : changed(result);
  };
}

for (const name of ['copyFileSync', 'linkSync', 'renameSync', 'writeFileSync']) fs[name] = counted(fs[name]);
fs.promises.rename = counted(fs.promises.rename);
sqlite.backup = counted(sqlite.backup);

const { DatabaseSync, StatementSync } = sqlite;
const { exec, prepare } = DatabaseSync.prototype;
const { run } = StatementSync.prototype;
const databases = new WeakMap();
const countedExec = counted(exec);
const countedRun = counted(run);

DatabaseSync.prototype.exec = function (sql) {
  return (sql === 'COMMIT' ? countedExec : exec).call(this, sql);
};
DatabaseSync.prototype.prepare = function (...args) {
  const statement = prepare.apply(this, args);
  databases.set(statement, this);
  return statement;
};
StatementSync.prototype.run = function (...args) {
  return (databases.get(this)?.isTransaction ? run : countedRun).apply(this, args);
};

syncBuiltinESMExports();
