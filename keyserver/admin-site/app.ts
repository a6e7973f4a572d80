/** The operators' pages: an origin of their own, behind passkeys. Nothing here needs scripts but the passkey. docs/admin.md */
import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import { CodedError } from '../../core/errors.ts';
import { createApp, noStore } from '../http/app.ts';
import { sendFile } from '../http/compressed.ts';
import { formOf } from '../http/forms.ts';
import { limitRequests } from '../http/limits.ts';
import { operatorCookie, sameOriginOnly } from '../reading-site/session-cookie.ts';
import { as } from '../storage/audit.ts';
import { addFigurePages } from './figures.ts';
import { findOperator, OPERATOR_SESSION_LIFETIME } from './operators.ts';
import { type AdminPages, type AdminSiteOptions, ASSETS, sendPage } from './pages.ts';
import { addPersonPages } from './person.ts';
import { addPlanPages } from './plans.ts';
import { addAuditPages, addSetsPage } from './records.ts';
import { addSignIn, demandPasskey } from './sign-in.ts';
import { addImportPages, addSubscriberPages } from './subscribers.ts';

/** Bytes of a form. */
const FORM_LENGTH = 32_768;

/** The operators' pages as an Express app, not listening. */
export function createAdminSite(options: AdminSiteOptions): Express {
  const { origin, limits, provider } = options;
  const pages: AdminPages = {
    ...options,
    cookie: operatorCookie(origin, 'operator', OPERATOR_SESSION_LIFETIME),
    publisher: async () => (await provider.read())?.descriptor.name ?? 'Key server',
  };
  const elsewhere = 'These pages have another address: the key server says it at its start.\n';
  const misdirected: RequestHandler = (_request, response) => void response.status(421).type('text').send(elsewhere);
  const app = createApp({ ...options, formsLeadTo: [] }, misdirected, refuseTooMany);
  for (const [path, { type, file }] of Object.entries(ASSETS))
    app.get(path, (request, response) => sendFile(request, response, type, file));
  app.get('/favicon.ico', (_request, response) => void response.status(204).end());
  app.use(noStore, limitRequests(limits.documentsPerAddress, refuseTooMany));
  const sameOrigin = sameOriginOnly(origin);
  app.use((request, response, next) =>
    request.method === 'GET' || request.method === 'HEAD' ? next() : sameOrigin(request, response, next),
  );
  addSignIn(app, pages);
  app.use(demandOperator(pages));
  addImportPages(app, pages);
  app.use(formOf(FORM_LENGTH, 20), demandPasskey(pages));
  addFigurePages(app, pages);
  addSubscriberPages(app, pages);
  addPersonPages(app, pages);
  addPlanPages(app, pages);
  addSetsPage(app, pages);
  addAuditPages(app, pages);
  app.use((_request, response) => sendProblem(pages, response, 404, 'There is no such page.'));
  app.use(handleError(pages));
  return app;
}

const refuseTooMany: RequestHandler = (_request, response) =>
  void response.status(429).type('text').send('Too many.\n');

/** Demands an operator, in whose name all that follows is done. */
function demandOperator(pages: AdminPages): RequestHandler {
  return async (request, response, next) => {
    const operator = await findOperator(pages.state, pages.cookie.read(request) ?? '');
    if (!operator) return response.redirect(303, '/sign-in');
    response.locals.operator = operator;
    response.locals.state = as(pages.state, `operator ${operator.name}`);
    next();
  };
}

/** Refusals say what was wrong: the operator reads them. What is not foreseen goes to the log. */
function handleError(pages: AdminPages): ErrorRequestHandler {
  return async (error, _request, response, _next) => {
    if (response.headersSent) return void response.destroy();
    if (error instanceof CodedError) {
      const status = error.code === 'cross-site' || error.code === 'passkey-refused' ? 403 : 400;
      return sendProblem(pages, response, status, error.message);
    }
    if (error?.status >= 400 && error.status < 500)
      return sendProblem(pages, response, error.status, 'The form could not be read.');
    pages.log.error({ err: error }, 'unforeseen error');
    return sendProblem(pages, response, 500, 'Something went wrong here: the log of the key server has it.');
  };
}

function sendProblem(pages: AdminPages, response: Parameters<RequestHandler>[1], status: number, problem: string) {
  return sendPage(pages, response.status(status), 'problem', { title: 'That did not work', section: '', problem });
}
