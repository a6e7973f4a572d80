import { loadPyodide } from '/vendor/pyodide/pyodide.mjs';

const PROGRAM = `
import csv, io
from pyodide.http import pyfetch
text = await (await pyfetch('/data/words.csv')).string()
sum(int(row['length']) for row in csv.DictReader(io.StringIO(text)))`;

export const compute = async () => (await loadPyodide({ indexURL: '/vendor/pyodide/' })).runPythonAsync(PROGRAM);

export default async () => {
  const worker = new Worker('/pyodide-worker.js', { type: 'module' });
  const inWorker = new Promise((resolve) => worker.addEventListener('message', ({ data }) => resolve(data)));
  return [await compute(), await inWorker];
};
