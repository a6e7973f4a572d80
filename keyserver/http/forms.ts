/** What pages read from forms and addresses. */
import express, { type Request, type RequestHandler } from 'express';

/**
 * Reads a form into `request.body`. Coded forms are refused: a small one could hold a large one.
 *
 * @param limit - bytes
 * @param fields - the most it may have
 */
export function formOf(limit: number, fields: number): RequestHandler {
  return express.urlencoded({ extended: false, limit, parameterLimit: fields, inflate: false });
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

/** A member of the query; one that is missing is empty. */
export function queryOf({ originalUrl }: Request, name: string): string {
  return new URLSearchParams(originalUrl.replace(/^[^?]*/, '')).get(name) ?? '';
}
