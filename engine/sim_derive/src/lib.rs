//! Derives `sim::Snapshot`.

use proc_macro::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Field, Fields, Index, parse_macro_input};

/// Derives `sim::Snapshot` of a type from that of its fields, in order; an enum begins with the number of its variant.
/// A field with `#[snapshot(skip)]` is left out, and has its default in what is restored.
#[proc_macro_derive(Snapshot, attributes(snapshot))]
pub fn snapshot(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let (save, value, restore) = match &input.data {
        Data::Struct(data) => {
            let members: Vec<_> = members(&data.fields).collect();
            let (kept, skipped): (Vec<_>, Vec<_>) = members.iter().partition(|(_, field)| !is_skipped(field));
            let (kept, skipped) = (kept.iter().map(|(member, _)| member), skipped.iter().map(|(member, _)| member));
            let (saved, restored) = (kept.clone(), kept);
            let values = values(&data.fields);
            (
                quote!(#(::sim::Snapshot::save_state(&self.#saved, to);)*),
                quote!(Ok(Self { #values })),
                quote! {
                    #(::sim::Snapshot::restore_state(&mut self.#restored, from)?;)*
                    #(self.#skipped = Default::default();)*
                    Ok(())
                },
            )
        }
        Data::Enum(data) => {
            let (mut saves, mut made) = (Vec::new(), Vec::new());
            for (number, variant) in (0u32..).zip(&data.variants) {
                let (name, values) = (&variant.ident, values(&variant.fields));
                let (members, names): (Vec<_>, Vec<_>) = members(&variant.fields)
                    .enumerate()
                    .map(|(place, (member, _))| (member, format_ident!("field_{place}")))
                    .unzip();
                saves.push(quote!(Self::#name { #(#members: #names),* } => {
                    ::sim::Snapshot::save_state(&#number, to);
                    #(::sim::Snapshot::save_state(#names, to);)*
                }));
                made.push(quote!(#number => Ok(Self::#name { #values }),));
            }
            (
                quote!(match self { #(#saves)* }),
                quote! {
                    match <u32 as ::sim::Snapshot>::from_state(from)? {
                        #(#made)*
                        _ => Err(::sim::snapshot::Torn),
                    }
                },
                quote! {
                    *self = ::sim::Snapshot::from_state(from)?;
                    Ok(())
                },
            )
        }
        Data::Union(_) => unimplemented!("a union has no snapshot"),
    };
    quote! {
        #[automatically_derived]
        impl #generics ::sim::Snapshot for #name #arguments #bounds {
            fn save_state(&self, to: &mut Vec<u8>) {
                #save
            }

            // Needed by few, and compiled only for them.
            #[inline]
            fn from_state(from: &mut &[u8]) -> Result<Self, ::sim::snapshot::Torn> {
                #value
            }

            fn restore_state(&mut self, from: &mut &[u8]) -> Result<(), ::sim::snapshot::Torn> {
                #restore
            }
        }
    }
    .into()
}

/// Returns the fields with their names or numbers.
fn members(fields: &Fields) -> impl Iterator<Item = (proc_macro2::TokenStream, &Field)> {
    (0..).zip(fields).map(|(place, field)| {
        let place = Index::from(place);
        (field.ident.as_ref().map_or_else(|| quote!(#place), |name| quote!(#name)), field)
    })
}

/// Returns the fields of a value that is read from a snapshot.
fn values(fields: &Fields) -> proc_macro2::TokenStream {
    let values = members(fields).map(|(member, field)| {
        if is_skipped(field) {
            quote!(#member: Default::default())
        } else {
            quote!(#member: ::sim::Snapshot::from_state(from)?)
        }
    });
    quote!(#(#values),*)
}

fn is_skipped(field: &Field) -> bool {
    field.attrs.iter().any(|attribute| attribute.path().is_ident("snapshot"))
}
