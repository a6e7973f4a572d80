/** All of the Reader's own pages. */
import { INSTANCE_PATH } from '../listening/listen.ts';
import type { ControlAnswer } from './answer.ts';
import { acceptProposal, declineSite, lookAtLink, lookAtSite, showConnect, showProposal } from './connect.ts';
import type { ControlContext } from './context.ts';
import type { Asked, Route } from './control-pages.ts';
import { disconnect, showDisconnect } from './disconnect.ts';
import { forgetActivity, showHome } from './home.ts';
import { saveSettings, showSettings } from './settings-page.ts';

type Show = (context: ControlContext, asked: Asked) => Promise<ControlAnswer>;
type Change = (context: ControlContext, form: URLSearchParams, asked: Asked) => Promise<ControlAnswer>;

export function controlRoutes(context: ControlContext): Route[] {
  const route = (path: string, show?: Show, change?: Change): Route => ({
    path,
    ...(show && { show: (asked: Asked) => show(context, asked) }),
    ...(change && { change: (form: URLSearchParams, asked: Asked) => change(context, form, asked) }),
  });
  return [
    route('/', showHome),
    route('/connect', showConnect, lookAtLink),
    route('/connect/*', showProposal, acceptProposal),
    route('/sites/look', undefined, lookAtSite),
    route('/sites/decline', undefined, declineSite),
    route('/publishers/*/disconnect', showDisconnect, (all, _form, asked) => disconnect(all, asked)),
    route('/activity/forget', undefined, forgetActivity),
    route('/settings', showSettings, saveSettings),
    route(INSTANCE_PATH, async ({ instance }) => ({ text: await instance.shown() })),
  ];
}
