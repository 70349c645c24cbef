// SPDX-License-Identifier: Apache-2.0
// Drives Chromium through the console; test_browser.py starts it. Prints one JSON line a finding: {ok, name, detail}.
import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';

const { web, url, screens, spool, operator, key, chromium: browserPath, statement, record, lib } = JSON.parse(process.argv[2]);
const require = createRequire(web + '/package.json');
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const XSS = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>';
const PASSWORD = 'correct horse battery';

const tell = (ok, name, detail) => console.log(JSON.stringify({ ok: !!ok, name, detail: ok ? undefined : String(detail ?? '') }));
mkdirSync(screens, { recursive: true });
const browser = await chromium.launch({
  executablePath: browserPath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
});

const wrong = []; // what the browser complained about
function watch(page, who) {
  page.setDefaultTimeout(Number(process.env.WAIT_MS) || 60000);
  page.on('pageerror', (e) => wrong.push(`${who}: ${e.message}`));
  page.on('console', (m) => {
    // a refused call (4xx) is part of some steps and is logged by Chromium itself
    if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) wrong.push(`${who}: ${m.text()}`);
  });
}
async function open({ lang, theme, width }) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, locale: lang, colorScheme: theme === 'dark' ? 'dark' : 'light', acceptDownloads: true, timezoneId: 'Asia/Shanghai' });
  await context.addInitScript(([l, c]) => {
    localStorage.setItem('lang', l);
    localStorage.setItem('theme', c);
    addEventListener('securitypolicyviolation', (e) => console.error('CSP ' + e.violatedDirective + ' ' + e.blockedURI));
  }, [lang, theme]);
  const page = await context.newPage();
  watch(page, `${lang} ${theme} ${width}`);
  return { context, page };
}
const go = (page, path) => page.goto(url + '/console' + path);
const rest = (page) => page.waitForFunction(() => !/加载中|Loading …/.test(document.querySelector('main')?.innerText || '加载中'));

function mailedCode(to) {
  const files = readdirSync(spool).filter((f) => f.endsWith('.eml')).map((f) => spool + '/' + f).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const f of files) {
    const text = readFileSync(f, 'utf8');
    const code = text.includes(to) && /\b(\d{6,10})\b/.exec(text.slice(text.search(/\r?\n\r?\n/)));
    if (code) return code[1];
  }
  return null;
}
async function until(f, what) {
  const end = Date.now() + 60000;
  for (;;) {
    const v = await f();
    if (v) return v;
    if (Date.now() > end) throw new Error('waited for ' + what);
    await new Promise((r) => setTimeout(r, 50));
  }
}

async function picture(page, name) {
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${screens}/${name}.png`, fullPage: true });
}

/* Every page of one visitor: axe, nothing wider than the screen, a picture. */
async function look(page, name, tag) {
  await rest(page);
  const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (width > 0) tell(false, `${name} fits the screen (${tag})`, `${width} px too wide`);
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ['violations'] })).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target + ' ' + (n.any[0]?.message || '')).slice(0, 4).join(' | ')}`));
  if (found.length) tell(false, `axe finds nothing on ${name} (${tag})`, found.join('\n'));
  if (await page.evaluate(() => window.pwned)) tell(false, `what was typed stays text on ${name} (${tag})`, 'a script ran');
  await picture(page, `${name}-${tag}`);
  return found.length === 0 && width <= 0;
}

async function signUp(page) {
  await go(page, '/');
  await page.getByText('MI300X').first().waitFor();
  tell(await page.getByText('24 张中 20 张空闲').count(), 'a visitor sees the price table with live stock', await page.innerText('main'));
  tell(await page.getByText(/≈ USD 0\.3/).count(), 'prices are shown in a second currency by the dated rate');
  await page.getByRole('link', { name: '注册' }).first().click();
  await page.getByLabel('邮箱').fill('ren@example.com');
  await page.getByLabel('密码').fill('short');
  await page.getByRole('button', { name: '注册' }).click();
  await page.getByRole('alert').waitFor();
  tell(await page.locator('[aria-invalid=true]').count(), 'a weak password is told at its field');
  await page.getByLabel('密码').fill(PASSWORD);
  await page.getByRole('button', { name: '注册' }).click();
  await page.getByLabel('验证码').fill(await until(() => mailedCode('ren@example.com'), 'the mailed code'));
  await page.screenshot({ path: `${screens}/signup-code.png` });
  await page.getByRole('button', { name: '开通账户' }).click();
  await page.waitForURL('**/console/create');
  tell(true, 'a visitor signs up with the mailed code and is signed in');
  const stored = await page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]));
  tell(!/sl[sk]_/.test(stored), 'no secret is where scripts could read it', stored);
}

async function create(page, name) {
  await page.getByLabel('公钥').fill(key);
  await page.getByLabel('名称').fill(name);
  await page.getByLabel('卡数').selectOption('2');
  await page.getByText('CNY 4.40').first().waitFor();
  tell(/105\.60/.test(await page.innerText('.cost')) && /小时/.test(await page.innerText('.cost')), 'the cost per hour and day and how long the balance lasts stand beside the form', await page.innerText('.cost'));
  await picture(page, 'create-filled');
  await page.getByRole('button', { name: /创建，每小时 CNY 4\.40/ }).click();
  await page.waitForURL('**/console/instances/lea_*');
  await page.locator('.page-head .state.good').waitFor();
  tell((await page.innerText('.code pre')).startsWith('ssh -p'), 'the instance runs, seen without a reload, and its SSH command can be copied');
  await page.locator('.timeline').getByText('运行中').waitFor();
  tell(true, 'the timeline shows the steps');
}

/* A record that is handed in while the page is open is seen there, and can be downloaded. */
async function benchmark(page) {
  const id = page.url().split('/').pop();
  const lease = await page.evaluate(async (i) => (await fetch('/v1/leases/' + i)).json(), id); // its nonce is text
  const made = execFileSync('/usr/bin/python3', ['-c', 'import json, sys; from fleet import bench_record; print(json.dumps(bench_record(json.load(sys.stdin))))'], { input: JSON.stringify(lease), env: { ...process.env, PYTHONPATH: lib } });
  const status = await page.evaluate(async ([i, r]) => {
    const who = await (await fetch('/v1/console')).json();
    const a = await fetch(`/v1/leases/${i}/records`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': who.csrf, 'Idempotency-Key': crypto.randomUUID() }, body: `{"record":${r}}` });
    return a.ok || a.text();
  }, [id, made.toString()]);
  tell(status === true, 'an instance takes a benchmark record', status);
  await page.getByText('12.5 ms').waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /^下载/ }).click()]);
  await file.saveAs(record);
  tell(true, 'it is seen on the page that was open');
}

async function stopAndPay(page) {
  await page.getByRole('button', { name: '读取' }).click();
  await page.locator('.logs').first().waitFor();
  await page.getByText(/^CNY 0\.00\d{4}$/).first().waitFor(); // a second was billed
  tell(true, 'the cost so far grows while the page is open');
  await page.getByRole('button', { name: /^停止（保留 20 GB 磁盘/ }).click();
  const box = page.getByRole('dialog');
  tell(/节省/.test(await box.innerText()), 'a stop shows what it saves and keeps first', await box.innerText());
  await box.getByText('对应的命令行与 HTTP 调用').click();
  tell(/starlease stop/.test(await box.innerText()) && /curl -X POST/.test(await box.innerText()), 'every action has its command and its HTTP call beside it');
  await page.screenshot({ path: `${screens}/stop.png` });
  await box.getByRole('button', { name: '停止', exact: true }).click();
  await page.locator('.page-head').getByText('已停止').waitFor();
  tell(true, 'the stop is seen at once');
  await go(page, '/wallet');
  await page.locator('td').getByText('扣费').first().waitFor();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: '下载' }).click()]);
  await file.saveAs(statement);
  tell(true, 'the statement is downloaded');
}

/* Markup in every field that a renter or an operator can fill, as far as the server takes it. */
async function seed(context, page, leaseId) {
  const post = (path, body) => page.evaluate(async ([p, b]) => {
    const who = await (await fetch('/v1/console')).json();
    const r = await fetch(p, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': who.csrf, 'Idempotency-Key': crypto.randomUUID() }, body: JSON.stringify(b) });
    return [r.status, await r.json()];
  }, [path, body]);
  const said = [];
  for (const [path, body] of [['/v1/tokens', { name: XSS.slice(0, 63) }], ['/v1/keys', { name: XSS.slice(0, 60), key: key.replace(/ \S+$/, ' ') + XSS }], ['/v1/quotes', { model: XSS, gpus: 1, image: XSS, disk_gb: 1 }], ['/v1/accounts', { email: `"${XSS}"@example.com`, password: XSS }]])
    said.push((await post(path, body))[0]);
  tell(said[0] === 201 && said.every((s) => s < 500), 'markup is taken as a name or refused, never a fault', said.join());
  await go(page, '/access');
  await page.getByText('<img src=x').first().waitFor();
  tell(!(await page.evaluate(() => window.pwned)) && !(await page.locator('main img, main script').count()), 'markup in a name is shown as text');
  await go(page, '/instances/' + encodeURIComponent(XSS.replace(/\//g, '')));
  await page.locator('main .oops').waitFor();
  await go(page, `/?stock=${encodeURIComponent(XSS)}&sort=${encodeURIComponent(XSS)}`);
  await page.getByText('MI300X').first().waitFor();
  tell(!(await page.evaluate(() => window.pwned)), 'markup in the URL stays text');
}

const RENTER = ['/', '/create', '/instances', '/instances/LEASE', '/volumes', '/images', '/wallet', '/invoices', '/access', '/activity'];
const OPERATOR = ['/fleet', '/nodes/sim-00001', '/pricing', '/accounts', '/operations', '/books'];
const nameOf = (p) => p.replace(/^\/$/, 'prices').replace(/^\//, '').replace('/LEASE', '').replace('/sim-00001', '');

async function signIn(page, body) {
  await page.goto(url + '/console/signin');
  return page.evaluate(async (b) => (await fetch('/v1/console', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(b) })).status, body);
}

async function sweep(view, lease) {
  const tag = `${view.lang === 'en' ? 'en' : 'zh'}-${view.theme}-${view.width}`;
  const { context, page } = await open(view);
  let clean = 0, all = 0;
  for (const p of ['/', '/signup', '/signin']) {
    await go(page, p);
    await page.locator('main h1').waitFor();
    all++;
    clean += await look(page, nameOf(p) + (p === '/' ? '-visitor' : ''), tag);
  }
  await signIn(page, { email: 'ren@example.com', password: PASSWORD });
  for (const p of RENTER) {
    await go(page, p.replace('LEASE', lease));
    await page.locator('main h1').waitFor();
    if (p === '/create') await page.locator('.cost .big, .cost .oops').first().waitFor();
    all++;
    clean += await look(page, nameOf(p) + (p.includes('LEASE') ? '-one' : ''), tag);
  }
  await signIn(page, { token: operator });
  for (const p of OPERATOR) {
    await go(page, p);
    await page.locator('main h1').waitFor();
    if (p === '/books') {
      await page.locator('main .primary').click();
      await page.locator('main table').waitFor();
    }
    all++;
    clean += await look(page, nameOf(p), tag);
  }
  tell(clean === all, `${all} pages: axe finds no violation and nothing is wider than the screen (${tag})`, `${clean} of ${all}`);
  await context.close();
}

/* RFC 6238 by node's own crypto: an authenticator app. */
function totp(secret, shift = 0) {
  let bits = '';
  for (const c of secret) bits += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0');
  const raw = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const step = Buffer.alloc(8);
  step.writeBigInt64BE(BigInt(Math.floor(Date.now() / 30000) + shift));
  const mac = createHmac('sha1', raw).update(step).digest();
  return String((mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1000000).padStart(6, '0');
}

/* Switched on on its own page; from then on the sign-in page asks for the code. */
async function secondFactor(page) {
  await go(page, '/access');
  await page.getByRole('button', { name: '开始设置' }).click();
  const secret = (await page.getByLabel('密钥', { exact: true }).innerText()).trim();
  await page.getByLabel('应用验证码').fill(totp(secret));
  await page.getByRole('button', { name: '开启' }).click();
  const codes = (await page.getByLabel('恢复码', { exact: true }).innerText()).trim().split('\n');
  tell(codes.length === 10, 'the second factor is switched on, and ten recovery codes are shown', codes.join());
  await page.screenshot({ path: `${screens}/second-factor.png`, fullPage: true });
  await page.locator('main').getByRole('button', { name: '退出' }).click();
  await page.getByRole('link', { name: '登录' }).first().click();
  await page.getByLabel('邮箱').fill('ren@example.com');
  await page.getByLabel('密码').fill(PASSWORD);
  await page.locator('main').getByRole('button', { name: '登录', exact: true }).click();
  await page.getByLabel('应用验证码').fill(codes[0]);
  await page.locator('main').getByRole('button', { name: '登录', exact: true }).click();
  await page.waitForURL('**/console/instances');
  tell(true, 'signing in asks for the code when the account has a second factor');
}

/* A cut connection, a session revoked elsewhere, the keyboard. */
async function trouble(context, page, leaseId) {
  await go(page, '/instances/' + leaseId);
  await page.locator('.page-head .state').waitFor();
  await context.setOffline(true);
  await page.evaluate(() => 0);
  await page.getByRole('button', { name: /^启动/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: /^启动/ }).click();
  await page.getByRole('dialog').getByText('无法连接服务器').waitFor();
  tell(true, 'a cut connection is told in words, and nothing is lost');
  await context.setOffline(false);
  await page.getByRole('dialog').getByRole('button', { name: '取消' }).click();

  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await page.waitForURL('**/console/wallet');
  tell(true, 'the keyboard leads to the wallet: g w');

  await go(page, '/instances/' + leaseId);
  await page.getByRole('button', { name: '释放（删除数据）' }).click();
  const box = page.getByRole('dialog');
  tell(await box.getByRole('button', { name: '释放并删除数据' }).isDisabled(), 'data are only deleted after the name was typed');
  await page.screenshot({ path: `${screens}/release.png` });
  const other = await context.newPage();
  watch(other, 'second tab');
  await go(other, '/instances/' + leaseId);
  await other.locator('.page-head .state').waitFor();
  await box.getByLabel(/输入/).fill('train');
  await box.getByRole('button', { name: '释放并删除数据' }).click();
  await page.waitForURL('**/console/instances');
  tell(true, 'with the name typed the instance is released');
  await other.locator('.page-head').getByText('已释放').waitFor();
  await other.getByText('该实例已结束').waitFor();
  tell(true, 'a page of it that was open elsewhere tells that it is over');
  await other.close();

  await page.evaluate(async () => {
    const who = await (await fetch('/v1/console')).json();
    await fetch('/v1/tokens/' + who.session, { method: 'DELETE', headers: { 'X-CSRF-Token': who.csrf } });
  });
  await page.getByRole('link', { name: '钱包' }).first().click();
  await page.waitForURL('**/console/signin?next=**');
  tell(true, 'a session that was revoked elsewhere leads to the sign-in page');
  await page.getByLabel('邮箱').fill('ren@example.com');
  await page.getByLabel('密码').fill(PASSWORD);
  await page.locator('main').getByRole('button', { name: '登录', exact: true }).click();
  await page.waitForURL('**/console/wallet');
  tell(true, 'and from there back to where it was');
}

try {
  const { context, page } = await open({ lang: 'zh-CN', theme: 'light', width: 1280 });
  await signUp(page);
  await create(page, 'train');
  const lease = page.url().split('/').pop();
  await picture(page, 'instance-running');
  await benchmark(page);
  await stopAndPay(page);
  await seed(context, page, lease);
  await Promise.all([
    (async () => {
      await sweep({ lang: 'zh-CN', theme: 'light', width: 1280 }, lease);
      await sweep({ lang: 'en', theme: 'light', width: 390 }, lease);
    })(),
    (async () => {
      await sweep({ lang: 'en', theme: 'dark', width: 1280 }, lease);
      await sweep({ lang: 'zh-CN', theme: 'dark', width: 390 }, lease);
    })(),
  ]);
  await trouble(context, page, lease);
  await secondFactor(page);
  tell(!wrong.length, 'no page had an error, and the content security policy was never broken', [...new Set(wrong)].join('\n'));
} catch (e) {
  tell(false, 'the browser came to the end of the story', e.stack);
  for (const c of browser.contexts()) for (const p of c.pages()) await p.screenshot({ path: `${screens}/failed.png`, fullPage: true }).catch(() => 0);
}
await browser.close();
