//! Why a rule's effects are not followed.
//!
//! In: nothing. Out: [`Unsupported`], the reasons, each with the text that answers show. The first
//! group is about what one rule writes (`effects::writes`), the second about what others read of it
//! (`effects::changes`). Where there is a reason, rules are compared on samples.

/// Why it is not known what a rule writes, or what that changes for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsupported {
    #[error("a change nests too deeply")]
    TooDeep,
    #[error("policies of an API server are evaluated without the types of kinds")]
    NoTypes,
    #[error("a value is copied or computed")]
    Computed,
    #[error("items of a list are changed in a way that is not followed")]
    ItemsChanged,
    #[error("items of a list are changed by the positions of others in a way that is not followed")]
    ItemsByPositionsOfOthers,
    #[error("what identifies an object is changed")]
    IdentityChanged,
    #[error("which objects are copied is not known before")]
    UnknownSource,
    #[error("a rule cannot be evaluated")]
    UnusableRule,
    #[error("other objects than that of the request are changed")]
    OtherObjects,
    #[error("a part of a rule is filled in with variables")]
    FilledIn,
    #[error("an expression is none")]
    UnusableExpression,
    #[error("a patch is of an unknown type")]
    UnknownPatchType,
    #[error("what is computed may be computed again")]
    ComputedAgain,
    #[error("a patch has directives")]
    Directives,
    #[error("an anchor is a condition about an object or a list")]
    AnchorOnWhole,
    #[error("an anchor decides about a whole list or document")]
    AnchorDecidesWhole,
    #[error("a value is no text, integer or boolean")]
    OtherScalar,
    #[error("a number is written in another way than documents write it")]
    NumberForm,
    #[error("a value is tested by an operation")]
    TestOperation,
    #[error("a path is none")]
    UnusablePath,
    #[error("an item of a list is written by its position")]
    ItemByPosition,
    #[error("a patch is none")]
    UnusablePatch,
    #[error("entries are written whose keys may be the same")]
    SameKeys,
    #[error("a value is computed in another way, or more than once")]
    OtherComputation,
    #[error("a value is computed of one that is computed")]
    ComputedOfComputed,
    #[error("objects are generated in loops")]
    GeneratedInLoops,
    #[error("a loop has variables of its own")]
    LoopVariables,
    #[error("the first item of a list decides about all")]
    FirstItemDecides,
    #[error("names may have wildcards")]
    WildcardNames,
    #[error("a value is copied that is compared")]
    ComparedCopy,
    #[error("a function leaves a value as it is")]
    UnchangedByFunction,
    #[error("deletions generate objects")]
    DeletionGenerates,
    #[error("objects are changed that are deleted")]
    DeletedChanged,
    #[error("what is sent to a subresource is changed")]
    SubresourceChanged,
    #[error("conditions of anchors do not go together")]
    AnchorsApart,
    #[error("the name of the user is one that rules write")]
    WrittenUser,
    #[error("a value is copied that is compared, or to where one is")]
    ComparedCopyOrTarget,
    #[error("entries are read that are written under keys with names")]
    ReadUnderWrittenKeys,
    #[error("a value is copied whose parts are read")]
    CopyReadByConditions,
    #[error("names are compared by which items are found")]
    ComparedNames,
    #[error("several objects are generated, of which one may fail")]
    OneOfSeveralFails,
    #[error("objects are copied that the other policy does not copy")]
    CopiedByOneSide,
    #[error("items of a list are changed one by one, and the list as a whole")]
    ItemsAndWhole,
    #[error("items of a list without keys are changed one by one")]
    ItemsWithoutKeys,
    #[error("several objects are generated, some of them as copies")]
    SomeOfSeveralCopied,
    #[error("objects of one kind are copied from several lists")]
    SeveralSources,
    #[error("an object may be generated twice")]
    GeneratedTwice,
    #[error("the name of the user is copied, and compared")]
    ComparedUser,
    #[error("too many combinations of elements and items")]
    TooManyPositions,
    #[error("a loop fails that writes by positions")]
    PositionLoopFails,
    #[error("a text with wildcards is written")]
    WildcardText,
    #[error("an amount is compared and written")]
    ComparedAmount,
    #[error("a time, or a number with a fraction, is written")]
    TimeOrFraction,
    #[error("the entries of an object that is replaced are read")]
    ReplacedObjectRead,
    #[error("all of a list that is replaced is read")]
    ReplacedListRead,
    #[error("the items of a list that is replaced are read")]
    ReplacedItemsRead,
}
