/** Routes of an Express app, and the fields of the forms and messages that the key server knows: taken from the code, not from a list. */
import { globSync, readFileSync } from 'node:fs';
import type { Express } from 'express';

export interface Route {
  /** A pattern, such as `/v1/:file`. */
  readonly path: string;
  readonly method: string;
}

interface Layer {
  readonly route?: {
    readonly path: string | readonly string[];
    readonly stack: readonly { readonly method?: string }[];
  };
}

/** The routes of an app, each method once. */
export function routesOf(app: Express): Route[] {
  const found = new Map<string, Route>();
  for (const { route } of app.router.stack as readonly Layer[])
    for (const path of [route?.path ?? []].flat())
      for (const { method } of route?.stack ?? [])
        if (method) found.set(`${method} ${path}`, { path, method: method.toUpperCase() });
  return [...found.values()];
}

/** Names of fields: of the forms in pages, of queries, and of the API's messages. */
export function fieldNames(): string[] {
  const pages = globSync('keyserver/**/*.eta').map((file) => readFileSync(file, 'utf8'));
  const code = globSync('keyserver/reading-site/*.ts').map((file) => readFileSync(file, 'utf8'));
  const names = [
    ...matches(pages, /\bname="([\w-]+)"/g),
    ...matches(code, /(?:[fF]ield|queryOf)\(request, '([\w-]+)'\)/g),
    ...matches([readFileSync('docs/openapi.json', 'utf8')], /"([a-zA-Z]+)": \{\s*"(?:type|description)"/g),
    ...['device', 'keys', 'mac', 'nonce', 'time', 'ed25519', 'xwing', 'publisher', 'signature'],
  ];
  return [...new Set(names)];
}

function matches(texts: readonly string[], expression: RegExp): string[] {
  return texts.flatMap((text) => [...text.matchAll(expression)].map(([, name = '']) => name));
}
