/** The audit trail, filtered and exported as JSON lines; and sets, and when their keys came. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Express } from 'express';
import { daySpan } from '../../core/keys/set-time.ts';
import { auditFrom, auditLine, newestAudit } from '../storage/audit.ts';
import { countRows, type Database } from '../storage/database.ts';
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
    const view = { title: 'Audit trail', section: 'audit', rows: shown, who, about, since, next };
    await sendPage(pages, response, 'audit', view);
  });
  app.get('/audit/export', async (_request, response) => {
    response.attachment('audit.jsonl').type('application/jsonl');
    await pipeline(Readable.from(lines(database)), response);
  });
}

async function* lines(database: Database): AsyncGenerator<string> {
  for await (const row of auditFrom(database)) yield `${auditLine(row)}\n`;
}

export function addSetsPage(app: Express, pages: AdminPages): void {
  const { database } = pages.state;
  app.get('/sets', async (request, response) => {
    const page = /^\d{1,6}$/.test(query(request, 'page')) ? Number(query(request, 'page')) : 0;
    const sql = 'SELECT id, name, site, imported FROM sets ORDER BY imported DESC, name DESC, id LIMIT ? OFFSET ?';
    const rows = await database.all(sql, PAGE_LENGTH + 1, page * PAGE_LENGTH);
    const total = await countRows(database, 'sets');
    const next = rows.length > PAGE_LENGTH ? `?page=${page + 1}` : '';
    const provider = await database.first('SELECT root, serial, imported FROM provider');
    const view = { title: 'Sets and keys', section: 'sets', provider, total, next };
    await sendPage(pages, response, 'sets', { ...view, sets: rows.slice(0, PAGE_LENGTH) });
  });
}
