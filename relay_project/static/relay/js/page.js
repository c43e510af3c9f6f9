// The account sheet closes like any menu: by Escape, or by a click elsewhere.
const account = document.querySelector("details.account");

if (account) {
  document.addEventListener("click", (event) => {
    if (!account.contains(event.target)) account.open = false;
  });
  account.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    account.open = false;
    account.querySelector("summary").focus();
  });
}
