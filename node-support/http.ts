/**
 * Parts used of node:http besides its types. It is got by its name and not by an `import`: for that, Node.js (26.10) reads all that the module
 * exports, `http.WebSocket` among it, and so loads the whole of its own `fetch`, which takes 14 MiB and 30 ms at every start.
 */
const http = process.getBuiltinModule('node:http');

export const { Agent, createServer, request, Server, ServerResponse, STATUS_CODES } = http;
export const { validateHeaderName, validateHeaderValue } = http;
