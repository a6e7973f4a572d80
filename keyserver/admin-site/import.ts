/** Lists of subscribers: first what a list would change, then the list. */
import type { Express } from 'express';
import { field, formOf } from '../http/forms.ts';
import { importSubscribers, ListRefused } from '../readers/import-subscribers.ts';
import { type AdminPages, operatorState, sendPage } from './pages.ts';
import { demandPasskey } from './sign-in.ts';

/** Bytes of the form, in which a browser writes up to three for one: longer lists are imported by the command. */
const MAXIMUM_LENGTH = 4_194_304;
/** Wrong lines that are shown. */
const SHOWN = 50;

export function addImportPages(app: Express, pages: AdminPages): void {
  const form = formOf(MAXIMUM_LENGTH, 5);
  const page = { title: 'Import a list', section: 'subscribers' };
  app.get('/import', async (_request, response) =>
    sendPage(pages, response, 'import', { ...page, list: '', problems: [] }),
  );
  app.post('/import', form, demandPasskey(pages), async (request, response) => {
    const list = field(request, 'list');
    const dryRun = field(request, 'step') !== 'take';
    try {
      const outcome = await importSubscribers(operatorState(response), Buffer.from(list), { dryRun });
      await sendPage(pages, response, 'imported', { ...page, list, outcome, dryRun });
    } catch (error) {
      if (!(error instanceof ListRefused)) throw error;
      const problems = error.problems.slice(0, SHOWN);
      await sendPage(pages, response.status(400), 'import', { ...page, list, problems });
    }
  });
}
