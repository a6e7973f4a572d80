/** Dates in header fields: RFC 9110 section 5.6.7. */

const DAYS = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const MONTH = `(${MONTHS.join('|')})`;
const TIME = '(\\d\\d):(\\d\\d):(\\d\\d)';

/** Day, month, year and time: the form that is sent. */
const FIXED = new RegExp(`^${DAYS}, (\\d\\d) ${MONTH} (\\d{4}) ${TIME} GMT$`);
const LONG = new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d\\d)-${MONTH}-(\\d\\d) ${TIME} GMT$`);
const ASCTIME = new RegExp(`^${DAYS} ${MONTH} ([ \\d]\\d) ${TIME} (\\d{4})$`);

/** Milliseconds since 1970; `undefined` where there is no date, and the field is to be ignored. */
export function parseHttpDate(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const fixed = FIXED.exec(text);
  if (fixed) return timeOf(fixed[3], fixed[2], fixed[1], fixed.slice(4));
  const asctime = ASCTIME.exec(text);
  if (asctime) return timeOf(asctime[6], asctime[1], asctime[2], asctime.slice(3, 6));
  const long = LONG.exec(text);
  return long ? timeOf(`${Number(long[3]) < 70 ? 20 : 19}${long[3]}`, long[2], long[1], long.slice(4)) : undefined;
}

function timeOf(
  year: string | undefined,
  month: string | undefined,
  day: string | undefined,
  time: readonly string[],
): number | undefined {
  const [hours = 0, minutes = 0, seconds = 0] = time.map(Number);
  if (hours > 23 || minutes > 59 || seconds > 60) return undefined;
  return Date.UTC(Number(year), MONTHS.indexOf(month ?? ''), Number(day), hours, minutes, seconds);
}
