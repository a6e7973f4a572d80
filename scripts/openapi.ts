/** Writes docs/openapi.json, the API for other systems, from its operations: `npm run openapi`. */
import { writeFileSync } from 'node:fs';
import { z } from 'zod';
import { OPERATIONS } from '../keyserver/api/subscriptions.ts';

const ERRORS: Readonly<Record<string, string>> = {
  '400': 'argument-invalid: the request is not of this form; name-refused: no subscriber can have this name',
  '401': 'token-refused: no token for subscriptions came with it',
  '404': 'no-such-subscriber, no-such-plan',
  '409':
    'revoked; mail-off: this key server sends no mail; mail-refused: the mail server says that there is no such address',
  '413': 'too-large',
  '429': 'too-many-requests',
};

const json = (schema: unknown) => ({ 'application/json': { schema } });
const schemaOf = (type: z.ZodType, io: 'input' | 'output') => {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io });
  return schema;
};

/** An OpenAPI document, version 3.1. */
export function openApiDocument(): unknown {
  const error = { type: 'object', properties: { error: { type: 'string' } }, required: ['error'] };
  const refusals = Object.entries(ERRORS).map(([status, description]) => [
    status,
    { description, content: json(error) },
  ]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'wispr key server: subscriptions',
      version: '1',
      description:
        'For a shop, a membership list or a payment service. `wispr admin token --for subscriptions` makes the token.',
    },
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    security: [{ token: [] }],
    paths: Object.fromEntries(
      OPERATIONS.map(({ path, summary, request, answer }) => [
        path,
        {
          post: {
            operationId: path.split('/').at(-1),
            summary,
            requestBody: { required: true, content: json(schemaOf(request, 'input')) },
            responses: {
              '200': { description: 'Done.', content: json(schemaOf(answer, 'output')) },
              ...Object.fromEntries(refusals),
            },
          },
        },
      ]),
    ),
  };
}

/** The text of docs/openapi.json. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(), undefined, 2)}\n`;
}

if (import.meta.main) writeFileSync(new URL('../docs/openapi.json', import.meta.url), openApiText());
