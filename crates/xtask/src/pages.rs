//! Tables that a task makes and a page of the documentation holds: between two comments that name the task, so
//! that the text around them stays as people wrote it.

use std::fs;
use std::path::Path;

use crate::{Result, root};

/// Puts a table into a page, from the root, in place of what its task made before.
///
/// # Errors
/// If the page cannot be read or written, or has no place for it.
pub(crate) fn put(page: &str, task: &str, table: &str) -> Result<()> {
    let path = root().join(page);
    let text = read(&path)?;
    let old = between(&text, task).ok_or_else(|| format!("{page} has no place for `{}`", begin(task)))?;
    let start = old.as_ptr() as usize - text.as_ptr() as usize;
    let new = format!("{}\n{table}{}", &text[..start], &text[start + old.len()..]);
    fs::write(&path, new).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{page} has it");
    Ok(())
}

/// What a page holds of a task, without the comments.
pub(crate) fn between<'t>(text: &'t str, task: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&begin(task))?;
    rest.split_once(END).map(|(table, _)| table)
}

const END: &str = "<!-- end -->";

fn begin(task: &str) -> String {
    format!("<!-- by cargo xtask {task} -->")
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn a_table_is_what_stands_between_its_comments() {
        let page =
            "a\n<!-- by cargo xtask b -->\n|x|\n<!-- end -->\nc\n<!-- by cargo xtask d -->\n<!-- end -->";
        assert_eq!(between(page, "b"), Some("\n|x|\n"));
        assert_eq!(between(page, "d"), Some("\n"));
        assert_eq!(between(page, "e"), None);
    }
}
