/** Lists of subscribers: first what a list would change, then the list. */
import express, { type Express } from 'express';
import { importSubscribers, ListRefused } from '../readers/import-subscribers.ts';
import { type AdminPages, field, operatorState, sendPage } from './pages.ts';

/** Bytes of the form, in which a browser writes up to three for one: longer lists are imported by the command. */
const MAXIMUM_LENGTH = 4_194_304;
/** Wrong lines that are shown. */
const SHOWN = 50;

export function addImportPages(app: Express, pages: AdminPages): void {
  const form = express.urlencoded({ extended: false, limit: MAXIMUM_LENGTH, parameterLimit: 5, inflate: false });
  const page = { title: 'Import a list', section: 'subscribers' };
  app.get('/import', async (_request, response) =>
    sendPage(pages, response, 'import', { ...page, list: '', problems: [] }),
  );
  app.post('/import', form, async (request, response) => {
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
