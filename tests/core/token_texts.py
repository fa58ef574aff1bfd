"""Texts in many languages and shapes whose exact token count the estimate must never fall below; all our own words."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator

LANGUAGES = {
    "German": "Bevor du eine Zahlung wiederholst, prüfe immer den Status der Transaktion. Lösche niemals Dateien.",
    "French": "Avant de relancer un paiement, vérifie toujours l'état de la transaction ; ne supprime rien.",
    "Spanish": "Antes de repetir un pago, comprueba siempre el estado de la transacción. ¿Dudas? Pregunta primero.",
    "Italian": "Prima di ripetere un pagamento controlla sempre lo stato della transazione.",
    "Portuguese": "Antes de repetir um pagamento, verifique sempre o estado da transação.",
    "Dutch": "Controleer altijd de status van de transactie voordat je een betaling herhaalt.",
    "Swedish": "Kontrollera alltid transaktionens status innan du upprepar en betalning.",
    "Finnish": "Tarkista aina tapahtuman tila ennen kuin toistat maksun, äläkä poista tiedostoja kysymättä.",
    "Polish": "Zanim powtórzysz płatność, zawsze sprawdź stan transakcji i nigdy nie usuwaj plików bez pytania.",
    "Czech": "Než zopakuješ platbu, vždy zkontroluj stav transakce.",
    "Hungarian": "Mielőtt megismételnél egy fizetést, mindig ellenőrizd a tranzakció állapotát.",
    "Turkish": "Bir ödemeyi yinelemeden önce her zaman işlemin durumunu denetle.",
    "Indonesian": "Sebelum mengulang pembayaran, selalu periksa status transaksi dan jangan menghapus berkas.",
    "Swahili": "Kabla ya kurudia malipo, angalia kila wakati hali ya muamala na usifute faili bila kuuliza.",
    "Vietnamese": "Trước khi thanh toán lại, luôn kiểm tra trạng thái giao dịch và không bao giờ xóa tệp.",
    "Russian": "Прежде чем повторять платёж, всегда проверяй состояние транзакции и не удаляй файлы без спроса.",
    "Ukrainian": "Перш ніж повторювати платіж, завжди перевіряй стан транзакції.",
    "Greek": "Πριν επαναλάβεις μια πληρωμή, έλεγχε πάντα την κατάσταση της συναλλαγής.",
    "Chinese": "在重复付款之前，务必检查交易状态；未经询问，绝不要删除工作目录以外的文件。",
    "Japanese": "支払いを再試行する前に必ず取引の状態を確認し、ファイルを無断で削除しないでください。",
    "Korean": "결제를 다시 시도하기 전에 항상 거래 상태를 확인하고, 파일을 삭제하지 마세요.",
    "Arabic": "قبل إعادة الدفع تحقق دائما من حالة المعاملة ولا تحذف أي ملفات دون أن تسأل أولا.",
    "Persian": "پیش از تکرار پرداخت همیشه وضعیت تراکنش را بررسی کن و پرونده‌ها را پاک نکن.",
    "Hebrew": "לפני חזרה על תשלום בדוק תמיד את מצב העסקה ולעולם אל תמחק קבצים בלי לשאול.",
    "Hindi": "भुगतान दोहराने से पहले हमेशा लेनदेन की स्थिति जाँचें और बिना पूछे फ़ाइलें कभी न हटाएँ।",
    "Bengali": "পেমেন্ট পুনরায় করার আগে সর্বদা লেনদেনের অবস্থা পরীক্ষা করুন।",
    "Tamil": "கட்டணத்தை மீண்டும் செய்வதற்கு முன் எப்போதும் பரிவர்த்தனை நிலையைச் சரிபார்க்கவும்.",
    "Thai": "ก่อนชำระเงินซ้ำให้ตรวจสอบสถานะของธุรกรรมเสมอ และห้ามลบไฟล์นอกโฟลเดอร์งานโดยไม่ถามก่อน",
    "Lao": "ກ່ອນຈ່າຍເງິນຊ້ຳ ໃຫ້ກວດສອບສະຖານະຂອງທຸລະກຳສະເໝີ",
    "Khmer": "មុនពេលធ្វើការទូទាត់ម្តងទៀត ត្រូវពិនិត្យស្ថានភាពប្រតិបត្តិការជានិច្ច។",
    "Burmese": "ငွေပေးချေမှုကို ထပ်မလုပ်မီ ငွေလွှဲအခြေအနေကို အမြဲစစ်ဆေးပါ။",
    "Georgian": "გადახდის გამეორებამდე ყოველთვის შეამოწმე ტრანზაქციის მდგომარეობა.",
    "Armenian": "Վճարումը կրկնելուց առաջ միշտ ստուգիր գործարքի վիճակը։",
    "Amharic": "ክፍያውን ከመድገምህ በፊት ሁልጊዜ የግብይቱን ሁኔታ አረጋግጥ።",
    "emoji": "🚀🔥 ship it 👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 ✅ ❌ 1️⃣ ⚠️ done 🎉🎉🎉 🇩🇪🇯🇵",
}

ENGLISH = tuple(
    " ".join(paragraph.split())
    for paragraph in (
        """
        An agent that repairs itself needs a memory that it can trust. Each time a session goes wrong, the agent looks
        at what happened, writes down one sentence that would have prevented the failure, and keeps it where the next
        session will read it. Such a sentence is a guess until it has been tried. Some guesses help, many change
        nothing, and a few do harm in places where nobody thought to look.
        """,
        """
        The only honest way to tell them apart is to let the rule stand in some sessions, to leave it out of others,
        and to count. Counting takes patience: five quiet sessions after a bad week prove very little, because a bad
        week is often followed by a better one whatever anybody did. When the numbers finally speak, a person still
        decides whether the sentence should bind other people's agents too.
        """,
        """
        Before you charge a card, ask the payment service whether the last attempt went through. If the answer does
        not come within ten seconds, do not try again; tell the customer that the payment is being checked and write a
        note for the night shift. Never close the ticket on your own.
        """,
    )
)

CODE = (
    """def retry(call, *, times: int = 3, wait=0.5):
    for attempt in range(times):
        try:
            return call()
        except TimeoutError as error:
            last = error
            sleep(wait * 2 ** attempt)
    raise last
""",
    """export const useCart = create<CartState>()((set, get) => ({
  items: [],
  addItem: (item) => set((s) => ({ items: [...s.items, item] })),
  total: () => get().items.reduce((a, i) => a + i.price * i.qty, 0),
}));
""",
    """SELECT u.id, COUNT(*) AS n FROM users u LEFT JOIN orders o ON o.user_id = u.id
WHERE u.created_at >= '2026-01-01' GROUP BY 1;
""",
    json.dumps({"id": "r-9772c134b8", "tags": ["breach:agent_reliability", "high"], "observed": [0.25, 1e-9, None]}),
    """fn main() -> Result<(), Box<dyn Error>> {
\tlet mut xs: Vec<u8> = vec![0xFF; 16];
\txs.iter_mut().for_each(|x| *x ^= 0b1010);
}
""",
    """#!/bin/sh
set -eu
for f in "$@"; do grep -nE '^[A-Z_]+=' "$f" | sed 's/=.*//' >> out.txt 2>&1 || true; done
""",
    "| a | b |\n|---|:-:|\n| `x` | **y** |\n\n    indented\n\n***\n\n1. one\n   - two\n\r\n\r\n\t\tthree\t\t4\n",
    "XMLHttpRequest getElementById iOSAppDelegate HTTP2Server SCREAMING_SNAKE_CASE kebab-case v2.10.3-rc.1+build.77",
    "By default atexit is true.",
    "If isjunk is not defined:",
    "The hextet as an integer.",
    "'defaults' is 'default', isn't it? \"Don't,\" they'd said; we've 'll 're.",
)


def noise() -> Iterator[str]:
    """Encoded bytes and random characters of every block, the same each time."""
    chance = random.Random(7)
    blocks = [
        (0x20, 0x7E), (0x61, 0x7A), (0x41, 0x5A), (0x80, 0x24F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0xAFF),
        (0xB00, 0xDFF), (0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2000, 0x27FF), (0x3000, 0x30FF),
        (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xFFFF), (0x1F300, 0x1FAFF), (0x10000, 0x2FFFF), (0, 0xD7FF),
    ]  # fmt: skip
    for _ in range(600):
        data = chance.randbytes(chance.randint(1, 90))
        yield base64.b64encode(data).decode()
        yield base64.b32encode(data).decode().lower()
        yield data.hex()
        yield data.hex().upper()
        yield data.decode("latin-1")
        low, high = chance.choice(blocks)
        text = "".join(chr(chance.randint(low, high)) for _ in range(chance.randint(1, 60)))
        yield text
        yield "".join(chance.choice(["1", "23", "4567", "²", "٣", "½", "〧", "𐄢"]) for _ in range(9))
        yield " ".join(chance.choices("算箱景를软老理环료调额非链比站", k=5))
        yield "".join(chance.choice(text + "   \n\t.-=_*/1234567aeiouTHE") for _ in range(60))
