/** How operators get in: a link registers a passkey, and a passkey signs in. */
import type { Express, Request, Response } from 'express';
import { KeyServerError } from '../errors.ts';
import { field, formOf } from '../http/forms.ts';
import { limitFailures } from '../http/limits.ts';
import { operatorCookie } from '../reading-site/session-cookie.ts';
import {
  ANSWER_FORM_LENGTH,
  addNewPasskey,
  authenticationOptions,
  ownerOfPasskey,
  type Passkeys,
  registrationOptions,
} from '../sign-in/passkey-ceremonies.ts';
import { as } from '../storage/audit.ts';
import {
  beginOperatorSession,
  endOperatorSession,
  findOperatorLink,
  type Operator,
  useOperatorLink,
} from './operators.ts';
import { type AdminPages, sendPage } from './pages.ts';

/** Seconds in which a passkey is to be registered once the link was opened. */
const JOINING = 600;

export function addSignIn(app: Express, pages: AdminPages): void {
  const { state, origin, limits } = pages;
  const passkeys: Passkeys = { state, table: 'operator_passkeys', origin, userVerification: 'required' };
  // Holds the code of the link, which is used up with the passkey.
  const link = operatorCookie(origin, 'operator-link', JOINING);
  const form = formOf(ANSWER_FORM_LENGTH, 5);
  const counted = { kind: 'operators', limit: limits.joinsPerAddress, countedBy: 'address' } as const;
  const limit = limitFailures(state, counted, (_request, _response, next) =>
    next(new KeyServerError('too-many-requests', 'too many attempts: wait a quarter of an hour')),
  );
  const invited = async (request: Request): Promise<Operator> => {
    const operator = await findOperatorLink(state, link.read(request) ?? '');
    if (operator) return operator;
    throw badLink();
  };
  const enter = async (request: Request, response: Response, operator: number): Promise<void> => {
    await endOperatorSession(state, pages.cookie.read(request) ?? '');
    pages.cookie.set(response, await beginOperatorSession(state, operator));
    response.redirect(303, '/');
  };
  app.get('/sign-in', (_request, response) =>
    sendPage(pages, response, 'sign-in', { title: 'Sign in', section: '', script: '/passkeys.js' }),
  );
  app.post('/sign-in/options', async (_request, response) => void response.json(await authenticationOptions(passkeys)));
  app.post('/sign-in', limit, form, async (request, response) =>
    enter(request, response, await ownerOfPasskey(passkeys, field(request, 'answer'))),
  );
  app.get('/join', (_request, response) =>
    sendPage(pages, response, 'join', { title: 'Register a passkey', section: '', script: '/join.js' }),
  );
  app.post('/join', limit, form, async (request, response) => {
    const code = field(request, 'code').trim().replace(/^.*#/, '');
    if (!(await findOperatorLink(state, code))) throw badLink();
    link.set(response, code);
    response.redirect(303, '/passkey');
  });
  app.get('/passkey', async (request, response) => {
    const { name } = await invited(request);
    await sendPage(pages, response, 'passkey', {
      title: 'Register a passkey',
      section: '',
      script: '/passkeys.js',
      name,
    });
  });
  app.post('/passkey/options', limit, async (request, response) => {
    const title = `${await pages.publisher()}: operators`;
    response.json(await registrationOptions(passkeys, await invited(request), title));
  });
  app.post('/passkey', limit, form, async (request, response) => {
    const operator = await invited(request);
    if (!(await useOperatorLink(state, link.read(request) ?? ''))) return response.redirect(303, '/passkey');
    const own = { ...passkeys, state: as(state, `operator ${operator.name}`) };
    await addNewPasskey(own, operator, field(request, 'answer'), 'Passkey');
    link.clear(response);
    await enter(request, response, operator.id);
  });
  app.post('/sign-out', async (request, response) => {
    await endOperatorSession(state, pages.cookie.read(request) ?? '');
    pages.cookie.clear(response);
    response.set('Clear-Site-Data', '"cache", "storage"').redirect(303, '/sign-in');
  });
}

function badLink(): KeyServerError {
  const message = 'the link is not good: used, or older than a day; "wispr admin operator NAME" makes another';
  return new KeyServerError('code-refused', message);
}
