/** wispr's own words on teasers, in the languages that it knows. `{host}` is the reading site's, `{price}` and `{author}` the publisher's text. */
import { type Forms, pluralOf } from '../words/format.ts';

interface Words {
  /** Title of an offer that is free for some days. */
  readonly free: Forms;
  readonly after: string;
  /** Title of an offer without free days. */
  readonly subscription: string;
  /** Title of the bar where the site has no key server. */
  readonly invitation: string;
  readonly start: string;
  readonly read: string;
  readonly subscribe: string;
  readonly signIn: string;
  readonly all: string;
  readonly address: string;
  /** Says who may read, where. */
  readonly note: string;
  readonly open: string;
  readonly by: string;
}

const ENGLISH: Words = {
  free: { one: 'Read on, free for # day', other: 'Read on, free for # days' },
  after: 'Then {price}. Stop whenever you like.',
  subscription: 'Read on with a subscription',
  invitation: 'Read on with your link or password',
  start: 'Start reading',
  read: 'Read',
  subscribe: 'Subscribe',
  signIn: 'Sign in',
  all: 'See all subscriptions',
  address: 'Your mail address',
  note: 'For subscribers, at {host}.',
  open: 'Open in the wispr Reader app',
  by: 'By {author}',
};

const WORDS: ReadonlyMap<string, Words> = new Map(
  Object.entries({
    en: ENGLISH,
    de: {
      free: { one: 'Weiterlesen, # Tag kostenlos', other: 'Weiterlesen, # Tage kostenlos' },
      after: 'Danach {price}. Jederzeit kündbar.',
      subscription: 'Weiterlesen mit einem Abo',
      invitation: 'Weiterlesen mit Ihrem Link oder Passwort',
      start: 'Jetzt lesen',
      read: 'Weiterlesen',
      subscribe: 'Abonnieren',
      signIn: 'Anmelden',
      all: 'Alle Abos ansehen',
      address: 'Ihre E-Mail-Adresse',
      note: 'Für Abonnenten, auf {host}.',
      open: 'In der App „wispr Reader“ öffnen',
      by: 'Von {author}',
    },
    fr: {
      free: { one: 'Lisez la suite, # jour gratuit', other: 'Lisez la suite, # jours gratuits' },
      after: 'Ensuite {price}. Arrêtez quand vous voulez.',
      subscription: 'Lisez la suite avec un abonnement',
      invitation: 'Lisez la suite avec votre lien ou votre mot de passe',
      start: 'Commencer à lire',
      read: 'Lire la suite',
      subscribe: 'S’abonner',
      signIn: 'Se connecter',
      all: 'Voir tous les abonnements',
      address: 'Votre adresse e-mail',
      note: 'Réservé aux abonnés, sur {host}.',
      open: 'Ouvrir dans l’appli wispr Reader',
      by: 'Par {author}',
    },
    es: {
      free: { one: 'Siga leyendo, # día gratis', other: 'Siga leyendo, # días gratis' },
      after: 'Después, {price}. Cancele cuando quiera.',
      subscription: 'Siga leyendo con una suscripción',
      invitation: 'Siga leyendo con su enlace o contraseña',
      start: 'Empezar a leer',
      read: 'Seguir leyendo',
      subscribe: 'Suscribirse',
      signIn: 'Iniciar sesión',
      all: 'Ver todas las suscripciones',
      address: 'Su correo electrónico',
      note: 'Para suscriptores, en {host}.',
      open: 'Abrir en la app wispr Reader',
      by: 'Por {author}',
    },
    it: {
      free: {
        one: 'Continua a leggere, gratis per # giorno',
        other: 'Continua a leggere, gratis per # giorni',
      },
      after: 'Poi {price}. Puoi smettere quando vuoi.',
      subscription: 'Continua a leggere con un abbonamento',
      invitation: 'Continua a leggere con il tuo link o la tua password',
      start: 'Inizia a leggere',
      read: 'Continua a leggere',
      subscribe: 'Abbonati',
      signIn: 'Accedi',
      all: 'Vedi tutti gli abbonamenti',
      address: 'Il tuo indirizzo e-mail',
      note: 'Per gli abbonati, su {host}.',
      open: 'Apri nell’app wispr Reader',
      by: 'Di {author}',
    },
    pt: {
      free: { one: 'Continue a ler, # dia grátis', other: 'Continue a ler, # dias grátis' },
      after: 'Depois, {price}. Cancele quando quiser.',
      subscription: 'Continue a ler com uma assinatura',
      invitation: 'Continue a ler com o seu link ou a sua senha',
      start: 'Começar a ler',
      read: 'Continuar a leitura',
      subscribe: 'Assinar',
      signIn: 'Entrar',
      all: 'Ver todas as assinaturas',
      address: 'O seu e-mail',
      note: 'Para assinantes, em {host}.',
      open: 'Abrir no app wispr Reader',
      by: 'Por {author}',
    },
    nl: {
      free: { one: 'Lees verder, # dag gratis', other: 'Lees verder, # dagen gratis' },
      after: 'Daarna {price}. Stop wanneer u wilt.',
      subscription: 'Lees verder met een abonnement',
      invitation: 'Lees verder met uw link of wachtwoord',
      start: 'Begin met lezen',
      read: 'Lees verder',
      subscribe: 'Abonneren',
      signIn: 'Inloggen',
      all: 'Alle abonnementen bekijken',
      address: 'Uw e-mailadres',
      note: 'Voor abonnees, op {host}.',
      open: 'Openen in de app wispr Reader',
      by: 'Door {author}',
    },
    pl: {
      free: {
        one: 'Czytaj dalej, # dzień za darmo',
        other: 'Czytaj dalej, # dni za darmo',
      },
      after: 'Potem {price}. Możesz zrezygnować w każdej chwili.',
      subscription: 'Czytaj dalej z prenumeratą',
      invitation: 'Czytaj dalej, używając swojego linku lub hasła',
      start: 'Zacznij czytać',
      read: 'Czytaj dalej',
      subscribe: 'Zaprenumeruj',
      signIn: 'Zaloguj się',
      all: 'Zobacz wszystkie prenumeraty',
      address: 'Twój adres e-mail',
      note: 'Dla prenumeratorów, w serwisie {host}.',
      open: 'Otwórz w aplikacji wispr Reader',
      by: '{author}',
    },
    ja: {
      free: { other: '続きを # 日間無料で読む' },
      after: 'その後は {price}。いつでも解約できます。',
      subscription: '購読して続きを読む',
      invitation: 'リンクまたはパスワードで続きを読む',
      start: '読み始める',
      read: '続きを読む',
      subscribe: '購読する',
      signIn: 'ログイン',
      all: '購読プランをすべて見る',
      address: 'メールアドレス',
      note: '購読者限定です。{host} でお読みいただけます。',
      open: 'アプリ「wispr Reader」で開く',
      by: '{author}',
    },
    zh: {
      free: { other: '继续阅读，# 天免费' },
      after: '之后 {price}，可随时取消。',
      subscription: '订阅后继续阅读',
      invitation: '用您的链接或密码继续阅读',
      start: '开始阅读',
      read: '继续阅读',
      subscribe: '订阅',
      signIn: '登录',
      all: '查看所有订阅方案',
      address: '您的邮箱地址',
      note: '订阅者专享，请前往 {host} 阅读。',
      open: '在 wispr Reader 应用中打开',
      by: '作者：{author}',
    },
  } satisfies Record<string, Words>),
);

export interface PageWords extends Omit<Words, 'after' | 'by' | 'free'> {
  readonly free: (days: number) => string;
  readonly after: (price: string) => string;
  /** Says who wrote a page; the name alone where its language is not known here. */
  readonly by: (author: string) => string;
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
  return {
    ...words,
    free: (days) => pluralOf(own ? primary : 'en', days, words.free),
    after: (price) => words.after.replace('{price}', () => price),
    by: (author) => (own ? words.by.replace('{author}', () => author) : author),
    note: words.note.replace('{host}', () => host),
    language: own ? '' : 'en',
  };
}
