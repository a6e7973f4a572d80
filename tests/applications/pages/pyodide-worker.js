import { compute } from './pyodide.js';

postMessage(await compute());
