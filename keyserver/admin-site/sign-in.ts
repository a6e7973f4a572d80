/** Lets operators in: a link registers a passkey, and a passkey signs in. */
import type { Express, Request, RequestHandler, Response } from 'express';
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
  isConfirmed,
  type Operator,
  useOperatorLink,
} from './operators.ts';
import { type AdminPages, sendPage } from './pages.ts';

/** Seconds in which a passkey is to be registered once the link was opened. */
const JOINING = 600;
const PASSKEY_PAGE = { section: '', script: '/passkeys.js' };

export function addSignIn(app: Express, pages: AdminPages): void {
  const { state, origin, limits } = pages;
  const passkeys = passkeysOf(pages);
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
    await begin(pages, request, response, operator);
    response.redirect(303, '/');
  };
  app.get('/sign-in', (_request, response) =>
    sendPage(pages, response, 'sign-in', { ...PASSKEY_PAGE, title: 'Sign in' }),
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
    await sendPage(pages, response, 'passkey', { ...PASSKEY_PAGE, title: 'Register a passkey', name });
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

/**
 * Lets a form pass whose operator has signed with the passkey in the last ten minutes; else asks for the passkey once more, and is sent the form
 * again with its answer. So a copied cookie changes nothing. Stands behind the form.
 */
export function demandPasskey(pages: AdminPages): RequestHandler {
  return async (request, response, next) => {
    const operator: Operator = response.locals.operator;
    if (request.method !== 'POST') return next();
    const { answer, ...fields } = (request.body ?? {}) as Record<string, string>;
    if (answer !== undefined) {
      if ((await ownerOfPasskey(passkeysOf(pages), field(request, 'answer'))) !== operator.id)
        throw new KeyServerError('passkey-refused', 'the passkey is of another operator');
      await begin(pages, request, response, operator.id);
    } else if (!isConfirmed(operator, pages.state.now())) {
      const page = { ...PASSKEY_PAGE, title: 'Confirm with your passkey', action: request.originalUrl, fields };
      return sendPage(pages, response, 'confirm', page);
    }
    next();
  };
}

function passkeysOf({ state, origin }: AdminPages): Passkeys {
  return { state, table: 'operator_passkeys', origin, userVerification: 'required' };
}

/** A session always begins anew; the one that the browser had ends. */
async function begin(pages: AdminPages, request: Request, response: Response, operator: number): Promise<void> {
  await endOperatorSession(pages.state, pages.cookie.read(request) ?? '');
  pages.cookie.set(response, await beginOperatorSession(pages.state, operator));
}

function badLink(): KeyServerError {
  const message = 'the link is not good: used, or older than a day; "wispr admin operator NAME" makes another';
  return new KeyServerError('code-refused', message);
}
