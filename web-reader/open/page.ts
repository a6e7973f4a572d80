/** Contents of the page that opens invitations: that it is at work, one question, or one refusal. */
import { questions } from '../../words/en/browser.ts';

const FIELDS = {
  link: { type: 'text', autocomplete: 'off' },
  password: { type: 'password', autocomplete: 'current-password' },
} as const;

/** Shows that the page is being opened, and nothing else. */
export function showOpening(): void {
  show('opening');
}

/** Resolves when the browser has drawn what is shown: what comes next holds it up. A window that is not looked at draws nothing. */
export async function drawn(): Promise<void> {
  if (document.hidden) return;
  for (let frame = 0; frame < 2; frame++) await new Promise((next) => requestAnimationFrame(next));
}

/** Asks for something. @param problem - a sentence: why it is asked for again */
export function ask(what: keyof typeof FIELDS, problem = ''): Promise<string> {
  const { title, label } = questions[what];
  const [form, answer] = [find<HTMLFormElement>('ask'), find<HTMLInputElement>('answer')];
  find('question').textContent = title;
  find('label').textContent = label;
  Object.assign(answer, FIELDS[what], { value: '' });
  const said = find('problem');
  [said.textContent, said.hidden] = [problem, problem === ''];
  show('ask');
  answer.focus();
  return new Promise((resolve) => {
    form.onsubmit = (event) => {
      event.preventDefault();
      if (answer.value !== '') resolve(answer.value); // spaces at the ends of a password are part of it
    };
  });
}

/** Shows one sentence, and one button. */
export function refuse(sentence: string, label: string, act: () => unknown): void {
  find('sentence').textContent = sentence;
  const button = find<HTMLButtonElement>('act');
  button.textContent = label;
  button.onclick = () => act();
  show('refusal');
}

function show(part: 'opening' | 'ask' | 'refusal'): void {
  for (const each of ['opening', 'ask', 'refusal']) find(each).hidden = each !== part;
}

function find<Kind extends HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}
