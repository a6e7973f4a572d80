/** Reads fields of forms and addresses. */
import express, { type Request, type RequestHandler } from 'express';
import { typedName } from '../subscriptions/subscribers.ts';

/**
 * Reads a form into `request.body`. Coded forms are refused: a small one could hold a large one; and so are forms with a NUL, which PostgreSQL
 * stores in no text.
 *
 * @param limit - bytes
 * @param fields - the most it may have
 */
export function formOf(limit: number, fields: number): RequestHandler {
  const read = express.urlencoded({ extended: false, limit, parameterLimit: fields, inflate: false });
  const refusal = Object.assign(new Error('a field has a NUL in it'), { status: 400 }); // `express.urlencoded` refuses so, too
  return (request, response, next) =>
    read(request, response, (error?: unknown) => {
      const values = Object.values((request.body ?? {}) as Record<string, string | string[]>).flat();
      next(error ?? (values.some((value) => value.includes('\0')) ? refusal : undefined));
    });
}

/** A field of a form; one that is missing or repeated is empty. */
export function field(request: Request, name: string): string {
  return optionalField(request, name) ?? '';
}

/** `undefined` where the form has no such field. */
export function optionalField(request: Request, name: string): string | undefined {
  const value: unknown = request.body?.[name];
  return value === undefined || typeof value === 'string' ? value : '';
}

/** The field `name`, of whom to sign in or send mail to: limits count it as it is used. */
export function nameField(request: Request): string {
  return typedName(field(request, 'name'));
}

/** A member of the query; one that is missing, or has a NUL in it, is empty. */
export function queryOf({ originalUrl }: Request, name: string): string {
  const value = new URLSearchParams(originalUrl.replace(/^[^?]*/, '')).get(name) ?? '';
  return value.includes('\0') ? '' : value;
}
