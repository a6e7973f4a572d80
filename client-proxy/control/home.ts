/** The Reader's first page: publishers and their sites, how this browser comes here, what was verified lately. */
import { ago } from '../../core/reading/confirmation.ts';
import { urlPathOf } from '../../core/site/path.ts';
import { isSite } from '../../core/site/site.ts';
import { PROXY_FILE_PATH } from '../gateway/proxy-file.ts';
import { HOST } from '../listening/listen.ts';
import { type HomePage, type LatelyView, renderHome, type VerifiedView } from '../pages/home-page.ts';
import { doneText, HOME_TEXT } from '../pages/texts-control.ts';
import { clockOf, isoOf } from '../pages/times.ts';
import type { Verified } from './activity.ts';
import type { ControlAnswer } from './answer.ts';
import { connectForm } from './connect.ts';
import type { ControlContext } from './context.ts';
import type { Asked } from './control-pages.ts';
import { lockForm } from './lock-page.ts';
import { describePublishers } from './publisher-views.ts';

const SHOWN_AT_ONCE = 8;

export async function showHome(context: ControlContext, asked: Asked): Promise<ControlAnswer> {
  const publishers = await describePublishers(context);
  const isEmpty = publishers.length === 0;
  const page: HomePage = {
    title: isEmpty ? HOME_TEXT.emptyTitle : HOME_TEXT.title,
    lead: isEmpty ? HOME_TEXT.emptyLead : HOME_TEXT.lead,
    place: 'home',
    warning: warningOf(context),
    status: doneText(asked.query.get('done')),
    form: isEmpty ? connectForm(context.token) : undefined,
    publishers,
    seen: seenSites(context),
    browser: isEmpty ? undefined : browserInWords(context, asked),
    pac: `http://${HOST}:${context.port()}${PROXY_FILE_PATH}`,
    tunnels: tunnelsInWords(context),
    lately: isEmpty ? undefined : describeLately(context),
    lock: context.lock.needsPassphrase ? lockForm(context) : undefined,
  };
  return { html: renderHome(page) };
}

function warningOf({ store: { unkept } }: ControlContext): HomePage['warning'] {
  if (unkept === undefined) return undefined;
  const { title, means, room, other } = HOME_TEXT.unkept;
  const isFull = unkept.code === 'disk-full';
  return { title: isFull ? title.full : title.other, lines: [means, isFull ? room : other], detail: unkept.message };
}

function seenSites({ seen, sites }: ControlContext): HomePage['seen'] {
  const open = seen.list().filter(({ name }) => isSite(name) && sites.find(name) === undefined);
  return open.map(({ name }) => ({ site: name, url: `/connect?site=${encodeURIComponent(name)}` }));
}

/** Browsers leave the proxy out for this machine's own addresses; so what they did elsewhere has to tell. */
function browserInWords({ browsers, now }: ControlContext, { request, throughProxy }: Asked): string {
  if (throughProxy) return HOME_TEXT.browser.proxy;
  const last = browsers.when(request.headers['user-agent'] ?? '');
  return last === undefined ? HOME_TEXT.browser.gateway : HOME_TEXT.browser.proxyLately(ago(last, now()));
}

function tunnelsInWords({ tunnels, sites, now }: ControlContext): string[] {
  return sites.all().flatMap(({ site }) => {
    const last = tunnels.of(site)?.last;
    return last === undefined ? [] : [HOME_TEXT.tunnels(site, ago(last, now()))];
  });
}

function describeLately(context: ControlContext): LatelyView {
  const { activity, settings, token } = context;
  const entries = activity.list().flatMap((verified) => describeVerified(verified, context));
  const none = settings.current.activity ? HOME_TEXT.latelyNone : HOME_TEXT.latelyOff;
  return {
    none: entries.length === 0 ? none : undefined,
    entries: entries.slice(0, SHOWN_AT_ONCE),
    earlier: entries.slice(SHOWN_AT_ONCE),
    forget: { action: '/activity/forget', token, fields: [], submit: HOME_TEXT.forget },
  };
}

function describeVerified(verified: Verified, { sites, urlOf, now }: ControlContext): VerifiedView[] {
  const { site, path, set, from, time } = verified;
  const bound = sites.find(site);
  if (bound === undefined) return [];
  const kind = set === undefined ? HOME_TEXT.public : HOME_TEXT.set(set.slice(0, 8));
  return [
    {
      url: urlOf(bound.label) + urlPathOf(path).slice(1),
      text: site + path,
      how: `${kind}, ${HOME_TEXT.from[from]}`,
      time: clockOf(time, now()),
      iso: isoOf(time),
    },
  ];
}

export async function forgetActivity({ activity, seen }: ControlContext): Promise<ControlAnswer> {
  activity.forget();
  seen.forget();
  return { goTo: '/?done=forgotten' };
}
