/** The audit trail: filtered, and exported as JSON lines. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Express } from 'express';
import { daySpan } from '../../core/keys/set-time.ts';
import { auditFrom, auditLine, newestAudit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import { type AdminPages, query, queryWith, sendPage } from './pages.ts';

const PAGE_LENGTH = 100;

export function addAuditPages(app: Express, pages: AdminPages): void {
  const { database } = pages.state;
  app.get('/audit', async (request, response) => {
    const [who, about, since, before] = ['who', 'about', 'since', 'before'].map((name) => query(request, name).trim());
    const filter = {
      who: who || undefined,
      about: about || undefined,
      since: daySpan(since ?? '', 'UTC')?.start,
      before: /^\d{1,15}$/.test(before ?? '') ? Number(before) : undefined,
    };
    const rows = await newestAudit(database, filter, PAGE_LENGTH + 1);
    const shown = rows.slice(0, PAGE_LENGTH);
    const next =
      rows.length > PAGE_LENGTH ? queryWith({ who, about, since, before: String(shown.at(-1)?.number) }) : '';
    await sendPage(pages, response, 'audit', {
      title: 'Audit trail',
      section: 'audit',
      rows: shown,
      who,
      about,
      since,
      next,
    });
  });
  app.get('/audit/export', async (_request, response) => {
    response.attachment('audit.jsonl').type('application/jsonl');
    await pipeline(Readable.from(lines(database)), response);
  });
}

async function* lines(database: Database): AsyncGenerator<string> {
  for await (const row of auditFrom(database)) yield `${auditLine(row)}\n`;
}
