/** Dates in header fields: RFC 9110 section 5.6.7. */

const DAYS = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAYS = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hours>\\d\\d):(?<minutes>\\d\\d):(?<seconds>\\d\\d)';

/** The form that is sent, that of RFC 850, and that of C. */
const FORMS = [
  `${DAYS}, (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT`,
  `${LONG_DAYS}, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT`,
  `${DAYS} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/**
 * The time that a field names; `undefined` where there is none or it is no date, and the field is to be ignored.
 *
 * @returns milliseconds since 1970
 */
export function parseHttpDate(text = ''): number | undefined {
  for (const form of FORMS) {
    const { month, day, year = '', hours, minutes, seconds } = form.exec(text)?.groups ?? {};
    if (month === undefined) continue;
    const [hour = 0, minute = 0, second = 0] = [hours, minutes, seconds].map(Number);
    if (hour > 23 || minute > 59 || second > 60) return undefined;
    const century = year.length > 2 ? '' : Number(year) < 70 ? '20' : '19';
    return Date.UTC(Number(century + year), MONTHS.indexOf(month), Number(day), hour, minute, second);
  }
  return undefined;
}
