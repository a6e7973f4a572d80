/**
 * Manual pages and shell completion, from the commands as Commander knows them: `node scripts/manual.ts DIR` writes `wispr.1`, a page for each
 * command, `wispr.bash` and `_wispr`. The same sources give the same bytes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, type Help } from 'commander';
import { COMMANDS } from '../cli/commands/index.ts';
import { EXAMPLES } from '../cli/examples.ts';
import { pathOf } from '../cli/io/usage-errors.ts';
import packageJson from '../package.json' with { type: 'json' };

const EXIT_STATUS = `.SH EXIT STATUS
.TP
0
good
.TP
1
failed
.TP
2
typed wrong
.TP
3
something was found, by commands that look for faults
`;

/** Makes all commands, under the name that people type. */
export async function everyCommand(): Promise<Command> {
  const program = new Command('wispr').description(packageJson.description).version(packageJson.version);
  for (const load of Object.values(COMMANDS)) (await load())(program);
  return program;
}

/** The files by their names. */
export function manual(program: Command): Map<string, string> {
  const pages = [program, ...program.commands].map((command) => {
    const name = pathOf(command).replaceAll(' ', '-');
    return [`${name}.1`, page(command, name)] as const;
  });
  return new Map([...pages, ['wispr.bash', bashCompletion(program)], ['_wispr', zshCompletion(program)]]);
}

/** Writes text as groff reads it: man(7), "Portability" says how `-` and `\` are written. */
export function escaped(text: string): string {
  const lines = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll("'", '\\(aq').split('\n');
  return lines.map((line) => line.trimStart().replace(/^\./, '\\&.')).join('\n');
}

function page(command: Command, name: string): string {
  const help = command.createHelp();
  const isProgram = command.parent === null;
  const head = `.TH ${escaped(name.toUpperCase())} 1 "" "wispr ${escaped(packageJson.version)}" "wispr"\n`;
  const title = `.SH NAME\n${escaped(name)} \\- ${escaped(help.subcommandDescription(command))}\n`;
  const others = isProgram
    ? command.commands.map((each) => pathOf(each).replaceAll(' ', '-')).sort()
    : [pathOf(command.parent as Command)];
  const seeAlso = others.map((other) => `.BR ${escaped(other)} (1)`).join(' ,\n');
  return [
    head,
    title,
    `.SH SYNOPSIS\n${usage(command, help)}`,
    `.SH DESCRIPTION\n${paragraphs(help.commandDescription(command))}`,
    options(command, help, '.SH OPTIONS\n'),
    isProgram ? list('.SH COMMANDS\n', command, help) : command.commands.map((each) => section(each)).join(''),
    isProgram ? EXIT_STATUS : '',
    examples(command),
    `.SH SEE ALSO\n${seeAlso}\n`,
  ].join('');
}

/** A command of a command, in the page of that. */
function section(command: Command): string {
  const help = command.createHelp();
  return [
    `.SH ${escaped(pathOf(command).toUpperCase())}\n${usage(command, help)}.PP\n`,
    paragraphs(help.commandDescription(command)),
    options(command, help, ''),
    examples(command),
    ...command.commands.map((each) => section(each)),
  ].join('');
}

function examples(command: Command): string {
  const lines = EXAMPLES[pathOf(command)] ?? [];
  return lines.length === 0 ? '' : `.PP\n.nf\n${escaped(lines.join('\n'))}\n.fi\n`;
}

function usage(command: Command, help: Help): string {
  const name = pathOf(command);
  return `.B ${escaped(name)}\n${escaped(help.commandUsage(command).slice(name.length).trim())}\n`;
}

/** Arguments that are described, then options. */
function options(command: Command, help: Help, title: string): string {
  const items = [
    ...help.visibleArguments(command).map((each) => item(help.argumentTerm(each), help.argumentDescription(each))),
    ...help.visibleOptions(command).map((each) => item(help.optionTerm(each), help.optionDescription(each))),
  ];
  return items.length === 0 ? '' : title + items.join('');
}

function list(title: string, command: Command, help: Help): string {
  const items = command.commands.map((each) => item(pathOf(each), help.subcommandDescription(each)));
  return title + items.join('');
}

function item(term: string, description: string): string {
  return `.TP\n.B ${escaped(term)}\n${escaped(description)}\n`;
}

function paragraphs(text: string): string {
  return `${text
    .split(/\n{2,}/)
    .map(escaped)
    .join('\n.PP\n')}\n`;
}

/** Lists what can be typed behind a command; its key is the words of that after `wispr`, each with a space before it. */
function candidates(command: Command, words = ''): [words: string, next: string[]][] {
  const names = command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ short, long }) => long ?? short ?? []);
  const inner = command.commands.flatMap((each) => candidates(each, `${words} ${each.name()}`));
  return [[words, [...command.commands.map((each) => each.name()), ...names]], ...inner];
}

/** The options whose value is the next word. */
function withValue(command: Command): string[] {
  const own = command.options.flatMap(({ short, long, required }) => (required ? [short, long] : []));
  const all = [...own, ...command.commands.flatMap(withValue)].filter((name) => name !== undefined);
  return [...new Set(all)].sort();
}

function bashCompletion(program: Command): string {
  const known = candidates(program);
  return `# bash completion for wispr
_wispr()
{
    local current=\${COMP_WORDS[COMP_CWORD]} word route='' next=''
    COMPREPLY=()
    case \${COMP_WORDS[COMP_CWORD-1]} in
        ${withValue(program).join('|')}) return ;;
    esac
    for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$route $word" in
            ${routes(known)}) route="$route $word" ;;
        esac
    done
    case $route in
${known.map(([words, next]) => `        '${words}') next='${next.join(' ')}' ;;\n`).join('')}    esac
    mapfile -t COMPREPLY < <(compgen -W "$next" -- "$current")
}
complete -o default -F _wispr wispr
`;
}

function zshCompletion(program: Command): string {
  const known = candidates(program);
  return `#compdef wispr
local word route=''
local -a next
case $words[CURRENT-1] in
  ${withValue(program).join('|')}) _files; return ;;
esac
for word in "\${(@)words[2,CURRENT-1]}"; do
  case "$route $word" in
    ${routes(known)}) route="$route $word" ;;
  esac
done
case $route in
${known.map(([words, next]) => `  '${words}') next=(${next.join(' ')}) ;;\n`).join('')}esac
compadd -a next
_files
`;
}

function routes(known: ReturnType<typeof candidates>): string {
  return known.flatMap(([words]) => (words === '' ? [] : [`'${words}'`])).join('|');
}

if (import.meta.main) {
  const [directory = '.'] = process.argv.slice(2);
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of manual(await everyCommand())) writeFileSync(join(directory, name), text);
}
