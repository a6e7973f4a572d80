/** The app of metrics: plain HTTP on loopback, one path. */
import type { RequestListener } from 'node:http';
import type { Metrics } from './metrics.ts';

/** Answers `GET /metrics`, under the address that is listened on: a foreign `Host` is DNS rebinding. */
export function metricsApp(metrics: Metrics, origin: string): RequestListener {
  const { host } = new URL(origin);
  return (request, response) => {
    if (request.headers.host !== host) return void response.writeHead(421).end();
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end();
    metrics.text().then(
      (text) => response.writeHead(200, { 'Content-Type': metrics.contentType, 'Cache-Control': 'no-store' }).end(text),
      () => response.writeHead(500).end(),
    );
  };
}
