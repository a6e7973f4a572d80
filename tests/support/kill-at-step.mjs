/**
 * Loaded into a program before its own modules (`NODE_OPTIONS=--import=…`): ends it as `kill -9` does, after change number WISPR_KILL_AT of what it
 * leaves behind. A change is one of a file, or a transaction of SQLite.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import sqlite from 'node:sqlite';

let left = Number(process.env.WISPR_KILL_AT);

function changed(result) {
  if (--left === 0) process.kill(process.pid, 'SIGKILL');
  return result;
}

function counted(change) {
  return function (...args) {
    const result = change.apply(this, args);
    return result instanceof Promise ? result.then(changed) : changed(result);
  };
}

for (const name of ['copyFileSync', 'linkSync', 'renameSync', 'writeFileSync']) fs[name] = counted(fs[name]);
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
