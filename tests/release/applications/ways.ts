/** Site in four ways: as plain files, in the Reader's gateway, in the in-browser reader, and without a key server. */

import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import express from 'express';
import type { BrowserContext } from 'playwright-core';
import { expect } from 'vitest';
import { freePort } from '../../../cache-config/child.ts';
import { initWorkspace } from '../../../publisher/init.ts';
import { close, listen } from '../../../serve/hosts.ts';
import type { SiteSettings } from '../../../serve/site.ts';
import { World } from '../../../serve/world.ts';
import { type CleanUp, temporaryFolder } from '../../support/reader-rig.ts';
import { startStaticHost } from '../../support/static-hosts.ts';
import { buildWebReader } from '../../support/web-reader.ts';
import { runWispr } from '../../support/wispr.ts';
import { PASSPHRASE } from '../../support/workspace.ts';

export const WAYS = ['plain', 'gateway', 'in-browser', 'serverless'] as const;
type Way = (typeof WAYS)[number];

interface OpenWay {
  readonly origin: string;
  /** Lets a browser that was never here read. */
  readonly enter: (context: BrowserContext) => Promise<void>;
}

const ISOLATED = { 'Cross-Origin-Embedder-Policy': 'require-corp' };

/** Settings that an application may need, as docs/configuration.md has it. */
const settingsOf = (source: string): SiteSettings => ({
  ...{ site: 'applications.example', name: 'Applications', source, public: ['pwa/*.js'] },
  ...{ include: ['**/.zarray'], headers: [{ path: '**', set: ISOLATED }] },
});

export async function openWays(source: string, cleanUp: CleanUp): Promise<Readonly<Record<Way, OpenWay>>> {
  await buildWebReader();
  const settings = settingsOf(source);
  const [plain, others, serverless] = await Promise.all([
    servePlain(source, cleanUp),
    publish(settings, cleanUp),
    publishServerless(settings, cleanUp),
  ]);
  return { plain, ...others, serverless };
}

async function servePlain(source: string, cleanUp: CleanUp): Promise<OpenWay> {
  const app = express();
  app.use((_, response, next) => {
    response.set({ ...ISOLATED, 'Cross-Origin-Opener-Policy': 'same-origin' });
    next();
  });
  app.use(express.static(source, { dotfiles: 'allow' }));
  app.use((_, response) => response.status(404).sendFile(join(source, '404.html')));
  const server = createServer(app);
  const url = await listen(server);
  cleanUp.add(() => close(server));
  return { origin: url.replace('127.0.0.1', 'localhost'), enter: async () => undefined };
}

async function publish(settings: SiteSettings, cleanUp: CleanUp): Promise<Record<'gateway' | 'in-browser', OpenWay>> {
  const world = await World.create(settings);
  cleanUp.add(() => world.close());
  const server = await world.startKeyServer();
  const host = await world.startContentHost(server.readingUrl);
  await world.publish(server, host.url);
  const ada = await world.addReader('ada', server, undefined);
  const gateway = (await ada.proxy.gatewayUrl(world.site)) ?? '';
  const signIn = async (context: BrowserContext) => {
    const page = await context.newPage();
    await page.goto(`${server.readingUrl}/lunr.html`);
    await page.click('aside >> text=Sign in');
    await page.fill('#name', ada.name);
    await page.fill('#password', ada.password);
    await page.click('#sign-in button');
    await page.waitForURL(`${server.documentsUrl}/lunr.html`);
    await page.close();
  };
  return {
    gateway: { origin: gateway.slice(0, -1), enter: async () => undefined },
    'in-browser': { origin: server.documentsUrl ?? '', enter: signIn },
  };
}

async function publishServerless(settings: SiteSettings, cleanUp: CleanUp): Promise<OpenWay> {
  const [directory, port] = [await temporaryFolder(cleanUp), await freePort()];
  const { site: _, ...own } = settings;
  const url = `http://localhost:${port}`;
  await initWorkspace({ directory, url, passphrase: PASSPHRASE, serverless: true, settings: own });
  await writeFile(join(directory, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  const wispr = async (...command: string[]) => {
    const args = [...command, '--passphrase-file', 'passphrase'];
    const { code, stdout, stderr } = await runWispr(args, { cwd: directory });
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    return stdout.trim();
  };
  const link = await wispr('invite', 'ada');
  await wispr('publish', '--quiet');
  const host = await startStaticHost('nginx', join(directory, 'protected'), port);
  cleanUp.add(() => host.stop());
  const openInvitation = async (context: BrowserContext) => {
    const page = await context.newPage();
    await page.goto(`${link}&to=/lunr.html`);
    await page.waitForURL(`${host.origin}/lunr.html`);
    await page.close();
  };
  return { origin: host.origin, enter: openInvitation };
}
