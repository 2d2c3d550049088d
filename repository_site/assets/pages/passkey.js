/* Creates or uses a passkey when its form is sent, and sends what the browser answers. */

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.addEventListener("submit", async (event) => {
    const field = form.elements.passkey;
    if (field.value) return;
    event.preventDefault();
    const failed = form.querySelector("[data-failed]");
    failed.hidden = true;
    try {
      const answer = await window.webauthnJSON[form.dataset.passkey](JSON.parse(form.dataset.options));
      field.value = JSON.stringify(answer);
      form.submit();
    } catch (problem) {
      failed.hidden = false;
    }
  });
}
