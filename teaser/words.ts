/** wispr's own words on fallback pages, in the languages that it knows. `{host}` is the reading site's. */

export interface Words {
  readonly read: string;
  readonly subscribe: string;
  /** Who may read, where. */
  readonly note: string;
  readonly open: string;
  /** What follows that link. */
  readonly ifThere: string;
}

const ENGLISH: Words = {
  read: 'Read',
  subscribe: 'Subscribe',
  note: 'For subscribers, at {host}.',
  open: 'Open in Reader',
  ifThere: ', if you have the wispr Reader on this computer.',
};

const WORDS: ReadonlyMap<string, Words> = new Map(
  Object.entries({
    en: ENGLISH,
    de: {
      read: 'Weiterlesen',
      subscribe: 'Abonnieren',
      note: 'Für Abonnenten, auf {host}.',
      open: 'Im Reader öffnen',
      ifThere: ', wenn der wispr Reader auf diesem Computer installiert ist.',
    },
    fr: {
      read: 'Lire la suite',
      subscribe: 'S’abonner',
      note: 'Réservé aux abonnés, sur {host}.',
      open: 'Ouvrir dans le Reader',
      ifThere: ', si wispr Reader est installé sur cet ordinateur.',
    },
    es: {
      read: 'Seguir leyendo',
      subscribe: 'Suscribirse',
      note: 'Para suscriptores, en {host}.',
      open: 'Abrir en Reader',
      ifThere: ', si wispr Reader está instalado en este equipo.',
    },
    it: {
      read: 'Continua a leggere',
      subscribe: 'Abbonati',
      note: 'Per gli abbonati, su {host}.',
      open: 'Apri in Reader',
      ifThere: ', se wispr Reader è installato su questo computer.',
    },
    pt: {
      read: 'Continuar a leitura',
      subscribe: 'Assinar',
      note: 'Para assinantes, em {host}.',
      open: 'Abrir no Reader',
      ifThere: ', se o wispr Reader estiver instalado neste computador.',
    },
    nl: {
      read: 'Lees verder',
      subscribe: 'Abonneren',
      note: 'Voor abonnees, op {host}.',
      open: 'Openen in Reader',
      ifThere: ', als wispr Reader op deze computer staat.',
    },
    pl: {
      read: 'Czytaj dalej',
      subscribe: 'Zaprenumeruj',
      note: 'Dla prenumeratorów, w serwisie {host}.',
      open: 'Otwórz w Readerze',
      ifThere: ', jeśli na tym komputerze jest zainstalowany wispr Reader.',
    },
    ja: {
      read: '続きを読む',
      subscribe: '購読する',
      note: '購読者限定です。{host} でお読みいただけます。',
      open: 'Reader で開く',
      ifThere: '（このコンピューターに wispr Reader がある場合）',
    },
    zh: {
      read: '继续阅读',
      subscribe: '订阅',
      note: '订阅者专享，请前往 {host} 阅读。',
      open: '在 Reader 中打开',
      ifThere: '（如果此计算机已安装 wispr Reader）',
    },
  } satisfies Record<string, Words>),
);

export interface PageWords extends Words {
  /** The language of these words, where the page's is another; else empty. All of them are written from left to right. */
  readonly language: string;
}

/**
 * The words for a page.
 *
 * @param language - BCP 47; English where there are no words in it
 * @param host - of the reading site
 */
export function wordsFor(language: string, host: string): PageWords {
  const [primary = ''] = language.toLowerCase().split('-', 1);
  const own = WORDS.get(primary);
  const words = own ?? ENGLISH;
  return { ...words, note: words.note.replace('{host}', () => host), language: own ? '' : 'en' };
}
