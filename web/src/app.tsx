// SPDX-License-Identifier: Apache-2.0
// The frame around the pages: navigation, language, colours, who is signed in.
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { isOperator, me, who } from './api';
import { type Key, lang, setLang, setTheme, t, theme } from './i18n';
import { connected, listenAs, useList } from './live';
import { Access, Activity, Wallet } from './pages/account';
import { Create } from './pages/create';
import { Invoices } from './pages/invoices';
import { Instance, Instances } from './pages/instances';
import { Accounts, Books, Fleet, NodePage, OperationsPage, PriceEditor } from './pages/operator';
import { Prices, SignIn, signOut, SignUp } from './pages/public';
import { Images, Volumes } from './pages/storage';
import { go, match, path, type Route, search } from './router';
import type { Price } from './types';
import { AskBox, Page, Said } from './ui';

const routes: Route[] = [
  { path: '/', page: Prices },
  { path: '/signup', page: SignUp },
  { path: '/signin', page: SignIn },
  { path: '/create', page: Create, role: 'renter' },
  { path: '/instances', page: Instances, role: 'renter' },
  { path: '/instances/:id', page: Instance, role: 'renter' },
  { path: '/volumes', page: Volumes, role: 'renter' },
  { path: '/images', page: Images, role: 'renter' },
  { path: '/wallet', page: Wallet, role: 'renter' },
  { path: '/invoices', page: Invoices, role: 'renter' },
  { path: '/access', page: Access, role: 'renter' },
  { path: '/activity', page: Activity, role: 'renter' },
  { path: '/fleet', page: Fleet, role: 'operator' },
  { path: '/nodes/:id', page: NodePage, role: 'operator' },
  { path: '/pricing', page: PriceEditor, role: 'operator' },
  { path: '/accounts', page: Accounts, role: 'operator' },
  { path: '/operations', page: OperationsPage, role: 'operator' },
  { path: '/books', page: Books, role: 'operator' },
];

const RENTER: [string, Key][] = [['/', 'prices.title'], ['/create', 'create.title'], ['/instances', 'instances.title'], ['/volumes', 'volumes.title'], ['/images', 'images.title'], ['/wallet', 'wallet.title'], ['/invoices', 'invoices.title'], ['/access', 'access.title'], ['/activity', 'activity.title']];
const OPERATOR: [string, Key][] = [['/fleet', 'fleet.title'], ['/pricing', 'pricing.title'], ['/accounts', 'accounts.title'], ['/operations', 'operations'], ['/books', 'books.title']];

function Links({ of }: { of: [string, Key][] }) {
  return (
    <ul>
      {of.map(([to, key]) => {
        const here = path.value === to || (to !== '/' && path.value.startsWith(to + '/')) || (to === '/fleet' && path.value.startsWith('/nodes/'));
        return (
          <li>
            <a href={'/console' + to} aria-current={here ? 'page' : undefined}>
              {t(key)}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

function Nav() {
  const signed = !!me.value?.account;
  return (
    <>
      <Links of={signed ? RENTER : RENTER.slice(0, 1)} />
      {isOperator() && (
        <>
          <h2>{t('nav.operator')}</h2>
          <Links of={OPERATOR} />
        </>
      )}
    </>
  );
}

function Choices() {
  return (
    <>
      <button class="quiet" lang={lang.value === 'en' ? 'zh-CN' : 'en'} onClick={() => setLang(lang.value === 'en' ? 'zh-CN' : 'en')}>
        {lang.value === 'en' ? '中文' : 'English'}
      </button>
      <select aria-label={t('theme')} class="quiet narrow-out" value={theme.value} onChange={(e) => setTheme((e.target as HTMLSelectElement).value)}>
        <option value="system">{t('theme.system')}</option>
        <option value="light">{t('theme.light')}</option>
        <option value="dark">{t('theme.dark')}</option>
      </select>
      {me.value?.account ? (
        <>
          <span class="who" title={me.value.account.email}>{me.value.account.email}</span>
          <button class="quiet narrow-out" onClick={signOut}>{t('signout')}</button>
        </>
      ) : (
        <a class="button" href="/console/signin">{t('signin.title')}</a>
      )}
    </>
  );
}

function Strip() {
  const prices = useList<Price>('/v1/prices');
  return (
    <>
      {(prices.data || []).some((p) => p.emulated) && (
        <p class="strip">
          <span class="tag">{t('emulated')}</span> {t('emulated.why')}
        </p>
      )}
      {!connected.value && <p class="strip warn" role="status">▲ {t('offline')}</p>}
    </>
  );
}

function Missing() {
  return (
    <Page title={t('missing')}>
      <p><a href="/console/">{t('prices.title')}</a></p>
    </Page>
  );
}

function App() {
  const found = match(routes, path.value);
  const account = me.value?.account;
  useEffect(() => listenAs(account?.id), [account?.id]);
  const closed = found?.route.role && !account;
  useEffect(() => {
    if (closed) go('/signin?next=' + encodeURIComponent(path.value + search.value), true);
  }, [closed]);
  const Shown = !found || (found.route.role === 'operator' && account && !isOperator()) ? Missing : found.route.page;
  return (
    <>
      <a class="skip" href="#main">{t('nav.skip')}</a>
      <header class="top">
        <details class="menu" key={path.value}>
          <summary>{t('nav.menu')}</summary>
          <nav aria-label={t('nav.menu')}><Nav /><div class="menu-choices"><Choices /></div></nav>
        </details>
        <a class="brand" href="/console/">Starlease</a>
        <div class="choices-bar"><Choices /></div>
      </header>
      <div class="frame">
        <nav class="side" aria-label={t('nav.pages')}><Nav /></nav>
        <main id="main">
          <Strip />
          {!closed && <Shown id={found?.id || ''} key={path.value} />}
          <footer class="dim">Starlease {me.value?.version}</footer>
        </main>
      </div>
      <AskBox />
      <Said />
    </>
  );
}

/* g then a letter leads to a page, / to the first filter; not while something is typed. */
const JUMPS: Record<string, string> = { p: '/', c: '/create', i: '/instances', w: '/wallet', v: '/volumes', k: '/access', a: '/activity', f: '/fleet' };
let leading = false;
addEventListener('keydown', (e) => {
  const at = e.target as HTMLElement;
  if (e.ctrlKey || e.metaKey || e.altKey || at.closest('input, select, textarea, dialog')) return;
  if (e.key === '/') {
    const field = document.querySelector<HTMLElement>('.filters input, .filters select');
    if (field) {
      e.preventDefault();
      field.focus();
    }
  } else if (leading && JUMPS[e.key]) go(JUMPS[e.key]);
  leading = e.key === 'g';
});

setLang(lang.value);
setTheme(theme.value);
const root = document.getElementById('app')!;
who()
  .catch(() => 0)
  .then(() => render(<App />, root));
