/** Waiting as a key server that has too much to do asks: docs/spec/keys.md, section 4. */

/** Seconds that are waited at most, and times. */
const LONGEST = 20;
const REPEATS = 2;

/** Sends a message, and again where the answer is 503 and says when: up to half as long again after that, so that not all come back at once. */
export async function sendPatiently<Answer>(
  send: () => Promise<Answer>,
  told: (answer: Answer) => { readonly status: number; readonly retryAfter?: unknown },
): Promise<Answer> {
  for (let repeats = 0; ; repeats++) {
    const answer = await send();
    const { status, retryAfter } = told(answer);
    const seconds = Number(retryAfter);
    if (status !== 503 || !(seconds > 0 && seconds <= LONGEST) || repeats === REPEATS) return answer;
    await new Promise((resolve) => setTimeout(resolve, seconds * (1000 + 500 * Math.random())));
  }
}
