/** The script of teasers on content hosts. It is the same on all pages of a site, so that a policy can name its hash. */
import type { FallbackPage } from './fallback-page.ts';

/** Milliseconds in which a page that has led on does not do it again: whatever leads back cannot make a loop. */
const PAUSE = 10_000;

/**
 * Links to the reading site keep query and fragment: those that name the page in `to` have them there. The element with the id `read` says
 * where the page is, by `data-to` or as a link.
 */
const KEEP = `
var l=location,r=document.getElementById("read"),t=r.dataset.to||r.href,o=new URL(t).origin,q=l.search+l.hash;
document.querySelectorAll("a").forEach(function(a){if(a.origin===o)a.href+=a.search.startsWith("?to=")?encodeURIComponent(q):q});
`;

/** The browser remembers, for this site, that such a link was followed; from then on a page leads on, unless it has just done so or the reading site leads here. */
const LEAD = (always: boolean) => `
try{var k="wispr-read",m=(localStorage[k]||"${always ? '0' : ''}").split(" "),n=Date.now();
addEventListener("click",function(e){var a=e.target.closest("a");if(a&&a.origin===o)localStorage[k]=Date.now()+" "+l.pathname});
if(m[0]&&performance.getEntriesByType("navigation")[0].type!=="back_forward"&&!document.referrer.startsWith(o+"/")&&!(m[1]===l.pathname&&n-m[0]<${PAUSE})){localStorage[k]=n+" "+l.pathname;l.replace(t+q)}
}catch(e){}
`;

export function scriptOf(redirect: FallbackPage['redirect']): string {
  return redirect === 'never' ? KEEP : KEEP + LEAD(redirect === 'always');
}
