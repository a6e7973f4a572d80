/** Tells when this process has more to do than it can: docs/keyserver.md, "Limits". What waits longer than that is better asked for again later. */

/** Milliseconds between two looks at the event loop, and by which one of two may come late. */
const INTERVAL = 50;
const MOST_LATE = 500;
/** Messages that are answered at a time. */
const MOST_UNDER_WAY = 1000;
/** Seconds after which to ask again, at random: clients refused together do not come back together. */
const LEAST_PAUSE = 2;
const MOST_PAUSE = 10;

class Load {
  #underWay = 0;
  #late = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Takes a message that is here whole, or a slow client would hold its place, and counts it until `end` is called. @returns `undefined` where there is too much */
  begin(): { readonly end: () => void } | undefined {
    this.#watch();
    if (this.#late > MOST_LATE || this.#underWay >= MOST_UNDER_WAY) return undefined;
    this.#underWay++;
    return { end: () => void this.#underWay-- };
  }

  pause(): number {
    return LEAST_PAUSE + Math.random() * (MOST_PAUSE - LEAST_PAUSE);
  }

  #watch(): void {
    let [last, before] = [performance.now(), 0];
    this.#timer ??= setInterval(() => {
      const now = performance.now();
      const late = now - last - INTERVAL;
      this.#late = Math.min(late, before);
      [last, before] = [now, late];
    }, INTERVAL).unref();
  }
}

/** Load of this process, whatever it listens to. */
export const load = new Load();
