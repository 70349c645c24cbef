// SPDX-License-Identifier: Apache-2.0
// Two flat JSON files; t(key, {x}) puts values in at {x}. tests/console finds keys that are missing or unused.
import { signal } from '@preact/signals';
import en from './i18n/en.json';
import zh from './i18n/zh-CN.json';

export type Key = keyof typeof en;
export type Lang = 'zh-CN' | 'en';

function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    /* private windows: the choice lasts until the page is closed */
  }
}

const first = kept('lang') || (navigator.language.startsWith('zh') ? 'zh-CN' : 'en');
export const lang = signal<Lang>(first === 'zh-CN' ? 'zh-CN' : 'en');
export const theme = signal<string>(kept('theme') || 'system');

export function setLang(v: Lang): void {
  lang.value = v;
  keep('lang', v);
  document.documentElement.lang = v;
}
export function setTheme(v: string): void {
  theme.value = v;
  keep('theme', v);
  document.documentElement.dataset.theme = v;
}

export function t(key: Key, values?: Record<string, string | number>): string {
  const text = (lang.value === 'zh-CN' ? (zh as Record<Key, string>) : en)[key];
  return values ? text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? '')) : text;
}
/* A key made of a word that came from the server; the word itself when there is no text for it. */
export function word(prefix: string, name: string): string {
  const key = `${prefix}.${name}`;
  return key in en ? t(key as Key) : name;
}
