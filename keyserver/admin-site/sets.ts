/** Sets, and when their keys came. */
import type { Express } from 'express';
import { countRows } from '../storage/database.ts';
import { type AdminPages, query, sendPage } from './pages.ts';

const PAGE_LENGTH = 100;

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
