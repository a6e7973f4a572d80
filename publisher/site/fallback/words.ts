/** wispr's own words on fallback pages, in the languages that it knows. `{host}` is the reading site's. */

/** The words of one language. */
export interface Words {
  /** The link to the reading site. */
  readonly read: string;
  /** Who may read, where. */
  readonly note: string;
  /** The same where the page leads there by itself. */
  readonly leading: string;
  /** The link to a Reader. */
  readonly open: string;
  /** What follows that link. */
  readonly ifThere: string;
}

const ENGLISH: Words = {
  read: 'Read',
  note: 'For subscribers, at {host}.',
  leading: 'For subscribers. Taking you to {host} …',
  open: 'Open in Reader',
  ifThere: ', if you have the wispr Reader on this computer.',
};

const WORDS: ReadonlyMap<string, Words> = new Map(
  Object.entries({
    en: ENGLISH,
    de: {
      read: 'Weiterlesen',
      note: 'Für Abonnenten, auf {host}.',
      leading: 'Für Abonnenten. Weiter zu {host} …',
      open: 'Im Reader öffnen',
      ifThere: ', wenn der wispr Reader auf diesem Computer installiert ist.',
    },
    fr: {
      read: 'Lire la suite',
      note: 'Réservé aux abonnés, sur {host}.',
      leading: 'Réservé aux abonnés. Redirection vers {host}…',
      open: 'Ouvrir dans le Reader',
      ifThere: ', si wispr Reader est installé sur cet ordinateur.',
    },
    es: {
      read: 'Seguir leyendo',
      note: 'Para suscriptores, en {host}.',
      leading: 'Para suscriptores. Redirigiendo a {host}…',
      open: 'Abrir en Reader',
      ifThere: ', si wispr Reader está instalado en este equipo.',
    },
    it: {
      read: 'Continua a leggere',
      note: 'Per gli abbonati, su {host}.',
      leading: 'Per gli abbonati. Reindirizzamento a {host}…',
      open: 'Apri in Reader',
      ifThere: ', se wispr Reader è installato su questo computer.',
    },
    pt: {
      read: 'Continuar a leitura',
      note: 'Para assinantes, em {host}.',
      leading: 'Para assinantes. Redirecionamento para {host}…',
      open: 'Abrir no Reader',
      ifThere: ', se o wispr Reader estiver instalado neste computador.',
    },
    nl: {
      read: 'Lees verder',
      note: 'Voor abonnees, op {host}.',
      leading: 'Voor abonnees. Verder naar {host} …',
      open: 'Openen in Reader',
      ifThere: ', als wispr Reader op deze computer staat.',
    },
    pl: {
      read: 'Czytaj dalej',
      note: 'Dla prenumeratorów, w serwisie {host}.',
      leading: 'Dla prenumeratorów. Przekierowanie do {host}…',
      open: 'Otwórz w Readerze',
      ifThere: ', jeśli na tym komputerze jest zainstalowany wispr Reader.',
    },
    ja: {
      read: '続きを読む',
      note: '購読者限定です。{host} でお読みいただけます。',
      leading: '購読者限定です。{host} に移動します…',
      open: 'Reader で開く',
      ifThere: '（このコンピューターに wispr Reader がある場合）',
    },
    zh: {
      read: '继续阅读',
      note: '订阅者专享，请前往 {host} 阅读。',
      leading: '订阅者专享。正在前往 {host}…',
      open: '在 Reader 中打开',
      ifThere: '（如果此计算机已安装 wispr Reader）',
    },
  } satisfies Record<string, Words>),
);

/** What a template is given. */
export interface PageWords extends Omit<Words, 'leading'> {
  /** The language of these words, where the page's is another; else empty. All of them are written from left to right. */
  readonly language: string;
}

/**
 * The words for a page.
 *
 * @param language - BCP 47; English where there are no words in it
 * @param host - of the reading site
 * @param leads - whether the page leads there by itself
 */
export function wordsFor(language: string, host: string, leads: boolean): PageWords {
  const [primary = ''] = language.toLowerCase().split('-', 1);
  const own = WORDS.get(primary);
  const { read, note, leading, open, ifThere } = own ?? ENGLISH;
  return {
    read,
    note: (leads ? leading : note).replace('{host}', () => host),
    open,
    ifThere,
    language: own ? '' : 'en',
  };
}
