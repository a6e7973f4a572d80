/** Page to which links of mail to many lead. A mail program that knows RFC 8058 posts to the same address by itself, from anywhere: the token is the right to do so. */
import type { Express, Request, Response } from 'express';
import { noStore } from '../http/app.ts';
import { queryOf } from '../http/forms.ts';
import { findUnsubscribing, UNSUBSCRIBE_PATH, unsubscribe } from '../mail/unsubscribe.ts';
import { type AccountPages, form } from './account-session.ts';
import { sendPage, sendRefusal } from './own-pages.ts';
import { refusalFor } from './refusals.ts';

export function addUnsubscribePage(app: Express, pages: AccountPages): void {
  const { state } = pages;
  const answer = async (request: Request, response: Response) => {
    const token = queryOf(request, 'token');
    const subscriber = await findUnsubscribing(state, token);
    if (subscriber === undefined) return sendRefusal(pages, request, response, refusalFor('not-found'));
    const isDone = request.method === 'POST';
    if (isDone) await unsubscribe(state, subscriber);
    await sendPage(pages, response, 'unsubscribe', isDone ? {} : { token });
  };
  app.get(UNSUBSCRIBE_PATH, noStore, answer);
  app.post(UNSUBSCRIBE_PATH, noStore, form, answer);
}
