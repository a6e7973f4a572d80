/** What a byte and a document cost each part of the system, in nanoseconds and cycles of a core, beside ciphers, signatures and TLS alone. */
import type { Figure } from '../document.ts';
import { browser } from './browser.ts';
import { clock } from './cycles.ts';
import { described } from './described.ts';
import { primitives } from './primitives.ts';
import { type Cost, caches, keyServer, proxy, publisher } from './programs.ts';
import { serving } from './tls.ts';

/** All in nanoseconds of processors, one after the other. */
export async function costFigure(say: (text: string) => void): Promise<Figure> {
  const costs: Cost[] = [];
  for (const [name, measure] of Object.entries({ publisher, caches, proxy, browser, keyServer })) {
    say(name);
    for (const cost of await measure()) {
      say(`${cost.name}: ${cost.document?.toFixed(0)} ns a document, ${cost.byte?.toFixed(3)} ns a byte`);
      costs.push(cost);
    }
  }
  say('nginx and TLS');
  const found = await serving();
  for (const { name, request, byte, transaction } of found)
    say(`${name}: ${request.toFixed(0)} ns, ${byte.toFixed(3)} ns a byte, ${transaction.toFixed(0)} ns a transaction`);
  say('openssl speed');
  return described({ clock: clock(), primitives: await primitives(), costs, serving: found });
}
