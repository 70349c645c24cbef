// SPDX-License-Identifier: Apache-2.0
// Figures and times for people. Money is a decimal text on the wire and is counted in whole micro-units here.
import { lang, t } from './i18n';

export const micro = (text: string): bigint => {
  const [, sign, whole, part] = /^(-?)(\d+)\.?(\d*)$/.exec(text) || ['', '', '0', ''];
  const v = BigInt(whole) * 1000000n + BigInt((part + '000000').slice(0, 6));
  return sign ? -v : v;
};
/* At least two decimals, more only where they say something. */
export function money(text: string, currency?: string): string {
  const v = micro(text);
  const a = v < 0n ? -v : v;
  const part = String(a % 1000000n).padStart(6, '0').replace(/0{1,4}$/, '');
  const whole = (a / 1000000n).toLocaleString(lang.value);
  return `${currency ? currency + ' ' : ''}${v < 0n ? '−' : ''}${whole}.${part}`;
}
export const fromMicro = (v: bigint): string => {
  const a = v < 0n ? -v : v;
  return `${v < 0n ? '-' : ''}${a / 1000000n}.${String(a % 1000000n).padStart(6, '0')}`;
};
/* Rounded to the cent, for forecasts alone. */
export const cents = (v: bigint): string => fromMicro(((v + 5000n) / 10000n) * 10000n).slice(0, -4);

export function when(iso: string): string {
  const d = new Date(iso);
  return new Intl.DateTimeFormat(lang.value, { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false }).format(d);
}
export function duration(s: number): string {
  if (s < 60) return t('time.s', { n: Math.round(s) });
  if (s < 3600) return t('time.m', { n: Math.floor(s / 60) });
  if (s < 172800) return t('time.h', { n: (s / 3600).toFixed(s < 36000 ? 1 : 0) });
  return t('time.d', { n: (s / 86400).toFixed(s < 864000 ? 1 : 0) });
}
export function bytes(n: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return `${n.toFixed(n < 10 && i ? 1 : 0)} ${units[i]}`;
}
