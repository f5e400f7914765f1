/** A passkey and a second session, so that there is something to see. */
export const pages = [
  { name: 'settings-profile', path: '/settings/profile', signedIn: true },
  { name: 'settings-routing', path: '/settings/routing', signedIn: true, act: async (page) => {
    for (const [label, name] of [[/^(Try these first|Сначала эти)$/, 'sim-bedrock'], [/^(Never these providers|Никогда эти провайдеры)$/, 'sim-gemini']]) { await page.getByLabel(label).first().fill(name); await page.getByLabel(label).first().press('Enter'); }
    await page.getByLabel(/^(Input|Ввод)$/).fill('25');
    await page.locator('[data-plan=now] [data-endpoint^=sim-gemini]').getByText('×').waitFor();
  } },
  { name: 'settings-notifications', path: '/settings/notifications', signedIn: true },
  { name: 'settings-data', path: '/settings/data', signedIn: true },
  { name: 'settings-security', path: '/settings/security', signedIn: true, act: async (page) => {
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
    await page.getByRole('button', { name: /Add a passkey|Добавить ключ/ }).click();
    await page.locator('#naming button, [form=naming]').first().click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  } },
];
