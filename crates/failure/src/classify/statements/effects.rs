//! The forms of effects: how texts state that a call changed nothing.

use super::form::{Form, Reading};

/// Every form of an effect.
pub(super) static EFFECTS: [Form; 8] = [
    Form::new(
        "nothing was changed",
        Reading::NoEffect,
        &["nothing"],
        r"{CLAUSE}nothing (?:(?:was|has been|is) (?:changed|modified|written|saved|created|stored)|changed){END}",
        &[
            "nothing was changed",
            "An export is already running, nothing was written, ask later",
            "Conflict: nothing has been created",
            "The order could not be created, nothing was saved.",
        ],
        &[
            "nothing was written about this",
            "If nothing was changed, call support",
            "it is not true that nothing was changed",
            "nothing was changed in version 2",
            "the invoice was written, but nothing was changed",
            "Perhaps nothing was changed",
            "we cannot tell whether nothing was changed",
            // About a part, while the rest was done.
            "Order 17 was created, the payment failed. Nothing was saved.",
            "We charged your card. The receipt failed: nothing was written.",
            "Order stored, index timed out, nothing was changed",
            // About one of several effects of a call.
            "Order 17 was created, the payment failed. Nothing was charged.",
            "Invoice saved. Nothing was sent.",
            "mail server down: nothing was sent",
            "We charged your card. Sending failed: nothing was sent.",
            "Replication failed: nothing has been done",
            "The order was placed – nothing was charged",
            "The card was declined and nothing was charged.",
        ],
    ),
    Form::new(
        "nothing was charged or sent",
        Reading::DeclaredNoEffect,
        &["nothing"],
        r"{CLAUSE}nothing (?:(?:was|has been|is) (?:{DONE}|charged|sent|done|processed|booked|executed)|happened){END}",
        &[
            "The card was declined and nothing was charged.",
            "The mail server is down: nothing was sent",
        ],
        &[
            "nothing was sent about this",
            "If nothing was charged, call support",
            "the invoice was written, but nothing was charged",
            "The order was created, the payment failed, nothing was charged",
        ],
    ),
    Form::new(
        "no changes were made",
        Reading::NoEffect,
        &["no "],
        r"{CLAUSE}no (?:changes?|modifications?|side effects?) (?:was|were|has been|have been) (?:made|applied|saved|stored|committed){END}",
        &[
            "No changes were made.",
            "Conflict: no changes have been saved",
        ],
        &[
            "no changes were made to the plan in March",
            "no data was sent",
            "no record was found",
            "no changes were made since yesterday",
            "When no changes were made, the old version is given",
            "no changes were made yet",
            "The order was created. No charge was made.",
            "Order stored, payment gateway timed out, no payment was taken",
            "Audit log unavailable, no record was written",
            "The order was accepted. No changes were made.",
        ],
    ),
    Form::new(
        "no data was written",
        Reading::DeclaredNoEffect,
        &["no "],
        r"{CLAUSE}no (?:(?:data|records?|resources?|state) (?:was|were|has been|have been) {DONE}|(?:charge|payment) (?:was|has been) (?:made|taken|processed)){END}",
        &[
            "The import failed: no data was written",
            "Declined, no charge was made",
        ],
        &[
            "no data was sent",
            "no record was found",
            "When no data was written, the old version is given",
            "The order was created, no charge was made",
        ],
    ),
    Form::new(
        "the request was not processed",
        Reading::NoEffect,
        &["not ", "wasn't"],
        r"{CLAUSE}(?:the|your|this) (?:request|call|operation) (?:was not|wasn't|has not been) (?:processed|executed|applied|performed|carried out|started|accepted){END}",
        &[
            "Your request was not processed.",
            "the operation wasn't started",
        ],
        &[
            "the previous request was not processed",
            "the request was not processed in time",
            "the request was not processed completely",
            "the item was not processed",
            "the request was not authorized",
            "the transaction was not processed",
            "The first part was saved. The operation was not executed.",
        ],
    ),
    Form::new(
        "the request was rejected before",
        Reading::NoEffect,
        &["before"],
        r"{CLAUSE}(?:the|your|this) (?:request|call|operation) (?:was|has been|is) (?:rejected|refused|dropped|stopped) before (?:(?:it|anything) (?:was|could be) |being |any changes? (?:was|were) )?(?:processed|processing|executed|execution|started|begun|changed|written|saved|stored|created|done|made|applied){END}",
        &[
            "The request was rejected before processing.",
            "Overloaded: your request was rejected before anything was written",
            "the call was refused before any changes were made",
        ],
        &[
            "the request was rejected before noon",
            "the request was rejected before processing the second item",
            "your last request was rejected before processing",
            "The order was created. The request was rejected before processing.",
        ],
    ),
    Form::new(
        "the transaction was rolled back",
        Reading::DeclaredNoEffect,
        &["not ", "wasn't", "rolled back"],
        r"{CLAUSE}(?:(?:the|your|this) transaction (?:was not|wasn't|has not been) (?:processed|executed|applied|performed|carried out|started|accepted)|(?:the|your|this) (?:request|call|operation|transaction) (?:was|has been) rolled back){END}",
        &[
            "Deadlock found, the transaction was rolled back",
            "Your transaction was not processed.",
        ],
        &[
            "Unless the transaction was rolled back, call support",
            "the last transaction was rolled back",
            "The first batch was imported. The second failed and the transaction was rolled back.",
        ],
    ),
    Form::new(
        "changes were rolled back",
        Reading::DeclaredNoEffect,
        &["rolled back", "undone", "reverted"],
        r"{CLAUSE}(?:all changes|everything) (?:was|were|has been|have been) (?:rolled back|undone|reverted){END}",
        &[
            "The batch failed and all changes were rolled back.",
            "everything was undone",
        ],
        &[
            "changes were rolled back for two items",
            "all changes were rolled back last week",
            "some say everything was undone",
            "The first batch was imported, the second failed and all changes were rolled back",
        ],
    ),
];
