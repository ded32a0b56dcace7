//! HTML documents that differ in legal escapes and in the white space between tags only.

/// The longest reference, such as `&#x0003c;`, without `&` and `;`.
const MAX_REFERENCE_BYTES: usize = 10;

/// The document with one spelling of each escape. A reference to `<`, `>` or `&` becomes `&lt;`,
/// `&gt;` or `&amp;`, one to another character becomes that character, and white space between two
/// tags goes. A literal `<`, `>` or `&` stays, so it never equals an escaped one.
pub(super) fn canonical(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    let mut rest = document.trim();
    while let Some(at) = rest.find(['&', '>']) {
        out.push_str(&rest[..at]);
        let (sign, after) = rest[at..].split_at(1);
        if sign == ">" {
            out.push('>');
            let behind = after.trim_start();
            rest = if behind.starts_with('<') { behind } else { after };
            continue;
        }
        let end = after.bytes().take(MAX_REFERENCE_BYTES + 1).position(|byte| byte == b';');
        let reference = end.and_then(|end| Some((character(&after[..end])?, &after[end + 1..])));
        match reference {
            Some((character, behind)) => {
                match character {
                    '<' => out.push_str("&lt;"),
                    '>' => out.push_str("&gt;"),
                    '&' => out.push_str("&amp;"),
                    other => out.push(other),
                }
                rest = behind;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// The character of a reference; of those with names, only what XML has.
fn character(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        return match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => None,
        };
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    number.ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legal_escapes_are_equal() {
        let wanted = canonical("<td>&lt;b&gt; &amp; \"it's\" +</td>");
        for other in [
            "<td>&#60;b&#x3E; &#38; &quot;it&#39;s&quot; &#43;</td>",
            "<td>&#x3c;b&#062; &#x26; &#34;it&apos;s&#x22; +</td>",
            " <td>&lt;b&gt; &amp; \"it&#x27;s\" +</td>\n",
        ] {
            assert_eq!(canonical(other), wanted, "{other}");
        }
    }

    #[test]
    fn missing_or_double_escapes_are_not() {
        let wanted = canonical("<td>&lt;b&gt; &amp; c</td>");
        for other in [
            "<td><b> &amp; c</td>",
            "<td>&lt;b> &amp; c</td>",
            "<td>&lt;b&gt; & c</td>",
            "<td>&amp;lt;b&amp;gt; &amp;amp; c</td>",
            "<td>&lt;b&gt; &amp;  c</td>",
        ] {
            assert_ne!(canonical(other), wanted, "{other}");
        }
    }

    /// Each of them searched the rest of the document.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn bug_many_signs_of_a_reference_take_linear_time() {
        let document = "&".repeat(8 << 20);
        assert!(canonical(&document) == document);
    }

    #[test]
    fn white_space_between_tags_does_not_count() {
        assert_eq!(canonical("<a>\n  <b> c </b>\n</a>\n"), "<a><b> c </b></a>");
    }

    #[test]
    fn what_is_no_reference_stays() {
        for text in ["&", "a & b; c", "&;", "&#;", "&#x110000;", "&nbsp;", "&a very long name;"] {
            assert_eq!(canonical(text), text);
        }
    }
}
