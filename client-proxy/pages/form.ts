/** Forms on the Reader's own pages: each posts to one path, with the token of the guard (control/guard.ts). */

export interface PageForm {
  /** Path that it is posted to. */
  readonly action: string;
  /** `Guard.token`. */
  readonly token: string;
  readonly fields: readonly FormField[];
  readonly submit: string;
  /** The button does something that cannot be taken back. */
  readonly grave?: boolean;
  /** The way out. */
  readonly cancel?: { readonly text: string; readonly url: string };
}

interface Labelled {
  readonly name: string;
  readonly label: string;
  readonly hint?: string | undefined;
  /** What is wrong with what was typed. */
  readonly wrong?: string | undefined;
  /** Shown, and not to be changed here. */
  readonly fixed?: boolean | undefined;
}

export interface TextField extends Labelled {
  readonly kind: 'text' | 'password' | 'number' | 'lines';
  readonly value?: string | undefined;
  readonly required?: boolean;
  /** Where a reader begins. */
  readonly focus?: boolean;
  /** As in HTML; `off` if left out. */
  readonly autocomplete?: 'current-password' | 'new-password' | 'url';
  /** Characters; bounds of a number. */
  readonly maximumLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface CheckField extends Labelled {
  readonly kind: 'check';
  /** What is sent if it is checked. */
  readonly value: string;
  readonly checked: boolean;
}

export interface HiddenField {
  readonly kind: 'hidden';
  readonly name: string;
  readonly value: string;
}

export type FormField = TextField | CheckField | HiddenField;

export const FORM_TEMPLATE = `<% const { form } = it; %>
<form method="post" action="<%= form.action %>">
<input type="hidden" name="token" value="<%= form.token %>">
<% form.fields.forEach((field, index) => {
  const id = 'field-' + index;
  const described = [field.hint && id + '-hint', field.wrong && id + '-wrong'].filter(Boolean).join(' ');
  if (field.kind === 'hidden') { %>
<input type="hidden" name="<%= field.name %>" value="<%= field.value %>">
<% return; } %>
<div class="field<% if (field.kind === 'check') { %> check<% } %>">
<% if (field.kind === 'check') { %>
<input type="checkbox" id="<%= id %>" name="<%= field.name %>" value="<%= field.value %>"<% if (field.checked) { %> checked<% } %><% if (field.fixed) { %> disabled<% } %><% if (described) { %> aria-describedby="<%= described %>"<% } %>>
<% } %>
<label for="<%= id %>"><%= field.label %></label>
<% if (field.hint) { %><p class="hint" id="<%= id %>-hint"><%= field.hint %></p><% } %>
<% if (field.kind === 'lines') { %>
<textarea id="<%= id %>" name="<%= field.name %>" rows="3" spellcheck="false"<%~ include('@attributes', { field, described }) %>><%= field.value ?? '' %></textarea>
<% } else if (field.kind !== 'check') { %>
<input type="<%= field.kind %>" id="<%= id %>" name="<%= field.name %>" value="<%= field.value ?? '' %>" spellcheck="false" autocapitalize="off" autocomplete="<%= field.autocomplete ?? 'off' %>"<%~ include('@attributes', { field, described }) %>>
<% } %>
<% if (field.wrong) { %><p class="wrong" id="<%= id %>-wrong"><%= field.wrong %></p><% } %>
</div>
<% }) %>
<p class="action">
<button<% if (form.grave) { %> class="alarm"<% } %>><%= form.submit %></button>
<% if (form.cancel) { %><a href="<%= form.cancel.url %>"><%= form.cancel.text %></a><% } %>
</p>
</form>
`;

/** What text fields of every kind have in common. */
export const ATTRIBUTES_TEMPLATE = `<% const { field, described } = it; %><% if (described) { %> aria-describedby="<%= described %>"<% } %><% if (field.wrong) { %> aria-invalid="true"<% } %><% if (field.required) { %> required<% } %><% if (field.focus) { %> autofocus<% } %><% if (field.fixed) { %> disabled<% } %><% if (field.maximumLength) { %> maxlength="<%= field.maximumLength %>"<% } %><% if (field.minimum !== undefined) { %> min="<%= field.minimum %>"<% } %><% if (field.maximum !== undefined) { %> max="<%= field.maximum %>"<% } %>`;
